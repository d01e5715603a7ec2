"""Private, temporary MySQL and MariaDB servers on the loopback address, which leave nothing behind.

```
with servers.start("mysql-9.7", {"innodb-buffer-pool-size": "256M"}) as server:
    connection = server.connect()
```
"""

from lab.packages.cache import UnavailableHere
from lab.servers.datadirs import StartError
from lab.servers.programs import ANY_MYSQL, NAMES, OWN, stand_in
from lab.servers.server import PrivateServer, interrupt_on_signals, start

__all__ = [
    "ANY_MYSQL",
    "NAMES",
    "OWN",
    "PrivateServer",
    "StartError",
    "UnavailableHere",
    "interrupt_on_signals",
    "stand_in",
    "start",
]
