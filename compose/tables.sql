-- The tables of load.sh, with eight rows a page, and the sidecar's account, as in README.md.
CREATE DATABASE shop;
CREATE TABLE shop.orders (id INT PRIMARY KEY, filler VARCHAR(1830) CHARACTER SET latin1 NOT NULL);
CREATE TABLE shop.customers LIKE shop.orders;
CREATE TABLE shop.archive LIKE shop.orders;

SET SESSION cte_max_recursion_depth = 91200;
INSERT INTO shop.orders
  WITH RECURSIVE numbers (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM numbers WHERE id < 91200)
  SELECT id, REPEAT('x', 1830) FROM numbers;
INSERT INTO shop.archive SELECT * FROM shop.orders;
INSERT INTO shop.customers SELECT * FROM shop.orders WHERE id <= 23200;
ANALYZE TABLE shop.orders, shop.archive, shop.customers;

CREATE USER innodb_advisor@'%' IDENTIFIED BY 'only-looks' WITH MAX_USER_CONNECTIONS 4;
GRANT PROCESS ON *.* TO innodb_advisor@'%';
GRANT SELECT ON performance_schema.* TO innodb_advisor@'%';
GRANT SELECT ON mysql.innodb_index_stats TO innodb_advisor@'%';
