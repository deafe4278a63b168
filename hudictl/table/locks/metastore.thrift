// What hudictl calls of a Hive metastore: an excerpt of Apache Hive's hive_metastore.thrift (Apache License 2.0), with
// the numbers and names of its fields, which are the same in Hive 2.3, 3.1 and 4.0.

enum LockState { ACQUIRED = 1, WAITING = 2, ABORT = 3, NOT_ACQUIRED = 4 }
enum LockType { SHARED_READ = 1, SHARED_WRITE = 2, EXCLUSIVE = 3, EXCL_WRITE = 4 }
enum LockLevel { DB = 1, TABLE = 2, PARTITION = 3 }

struct LockComponent {
  1: required LockType type,
  2: required LockLevel level,
  3: required string dbname,
  4: optional string tablename
}

struct LockRequest {
  1: required list<LockComponent> component,
  3: required string user,
  4: required string hostname,
  5: optional string agentInfo
}

struct LockResponse {
  1: required i64 lockid,
  2: required LockState state
}

struct CheckLockRequest { 1: required i64 lockid }
struct UnlockRequest { 1: required i64 lockid }
struct HeartbeatRequest { 1: optional i64 lockid }

struct ShowLocksRequest {
  1: optional string dbname,
  2: optional string tablename
}

struct ShowLocksResponseElement {
  1: required i64 lockid,
  2: required string dbname,
  3: optional string tablename,
  5: required LockState state,
  6: required LockType type,
  8: required i64 lastheartbeat,
  9: optional i64 acquiredat,
  10: required string user,
  11: required string hostname,
  13: optional string agentInfo
}

struct ShowLocksResponse { 1: list<ShowLocksResponseElement> locks }

exception NoSuchLockException { 1: string message }
exception NoSuchTxnException { 1: string message }
exception TxnAbortedException { 1: string message }
exception TxnOpenException { 1: string message }
exception ConfigValSecurityException { 1: string message }

service ThriftHiveMetastore {
  LockResponse lock(1: LockRequest rqst) throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2),
  LockResponse check_lock(1: CheckLockRequest rqst)
    throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2, 3: NoSuchLockException o3),
  void unlock(1: UnlockRequest rqst) throws (1: NoSuchLockException o1, 2: TxnOpenException o2),
  void heartbeat(1: HeartbeatRequest ids)
    throws (1: NoSuchLockException o1, 2: NoSuchTxnException o2, 3: TxnAbortedException o3),
  ShowLocksResponse show_locks(1: ShowLocksRequest rqst),
  string get_config_value(1: string name, 2: string defaultValue) throws (1: ConfigValSecurityException o1)
}
