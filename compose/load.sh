#!/usr/bin/env bash
# The load of `make run`: one table fills the pool, then another is looked up and a third is scanned every two seconds.
# $MYSQL_HOST is the server. The scanned table would fit into the pool, but not beside the others.
set -euo pipefail

look_up() {
    while sleep 0.05; do
        for _ in {1..200}; do
            echo "SELECT id FROM customers WHERE id = $((1 + RANDOM % 23200)) AND filler <> '';"
        done
    done
}

scan() {
    while sleep 2; do
        echo "SELECT SUM(LENGTH(filler)) FROM orders;"
    done
}

mysql --user=root --execute="SELECT SUM(LENGTH(filler)) FROM archive" shop >/dev/null
look_up | mysql --user=root shop >/dev/null &
scan | mysql --user=root shop >/dev/null &
wait -n
