import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;
import org.apache.hadoop.hdfs.protocol.HdfsConstants;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.apache.hadoop.hdfs.server.namenode.NameNodeAdapter;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.shaded.com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.shaded.com.fasterxml.jackson.databind.ObjectMapper;

/**
 * An HDFS of one process, for tests: name nodes and two data nodes on this host, with WebHDFS.
 *
 * <p>Arguments: a folder for all it writes, the number of name nodes (two and more are highly available, under the name
 * "lake"), and settings as JSON. It prints one line when it is ready, then answers requests, a line of JSON each, and
 * ends with its input. The client's settings are in {@code FOLDER/conf}.
 */
public class MiniCluster {
  private static final String NAME_SERVICE = "lake";
  private static final String FAILOVER = "dfs.client.failover.proxy.provider." + NAME_SERVICE;
  private static final String FAILOVER_PROVIDER =
      "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider";
  private static final String PRINCIPAL = "dfs.namenode.kerberos.principal";
  private static final int COPIERS = 64;
  private static final ObjectMapper JSON = new ObjectMapper();

  /** A client that has a file open, and its stream. */
  private record Writer(DistributedFileSystem files, FSDataOutputStream stream) {}

  private final MiniDFSCluster cluster;
  private final Configuration clientSettings;
  private final DistributedFileSystem files;
  private final int nameNodes;
  private final Map<String, Writer> writers = new ConcurrentHashMap<>();
  private final List<DataNodeProperties> stopped = new ArrayList<>();
  private long softMs = HdfsConstants.LEASE_SOFTLIMIT_PERIOD;
  private long hardMs = 20 * HdfsConstants.LEASE_SOFTLIMIT_PERIOD;

  public static void main(String[] arguments) throws Exception {
    PrintStream replies = System.out;
    System.setOut(System.err);
    try {
      MiniCluster served = new MiniCluster(new File(arguments[0]), Integer.parseInt(arguments[1]), arguments[2]);
      replies.println(JSON.writeValueAsString(Map.of("ok", served.addresses())));
      BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = requests.readLine(); line != null; line = requests.readLine()) {
        replies.println(JSON.writeValueAsString(served.reply(JSON.readTree(line))));
      }
    } catch (Exception error) {
      error.printStackTrace();
    }
    Runtime.getRuntime().halt(0); // whatever threads still run
  }

  private MiniCluster(File folder, int nameNodes, String settings) throws Exception {
    this.nameNodes = nameNodes;
    Configuration conf = new HdfsConfiguration();
    conf.set("fs.permissions.umask-mode", "022");
    conf.set("dfs.permissions.enabled", "true");
    conf.set("dfs.replication", "2");
    conf.set("dfs.heartbeat.interval", "1");
    conf.set("dfs.namenode.http-bind-host", "127.0.0.1");
    conf.set("dfs.ha.tail-edits.period", "1");
    conf.set("dfs.namenode.lease-recheck-interval-ms", "200");
    JSON.readTree(settings).fields().forEachRemaining(field -> conf.set(field.getKey(), field.getValue().asText()));
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(folder, "data").getPath());
    UserGroupInformation.setConfiguration(conf);
    if (UserGroupInformation.isSecurityEnabled()) {
      UserGroupInformation.loginUserFromKeytab(conf.get(PRINCIPAL), conf.get("dfs.namenode.keytab.file"));
    }
    String user = UserGroupInformation.getLoginUser().getShortUserName(); // as a gateway, it may be anyone
    conf.set("hadoop.proxyuser." + user + ".hosts", "*");
    conf.set("hadoop.proxyuser." + user + ".groups", "*");
    MiniDFSCluster.Builder builder = new MiniDFSCluster.Builder(conf).numDataNodes(2);
    if (nameNodes > 1) {
      conf.set("fs.defaultFS", "hdfs://" + NAME_SERVICE);
      conf.set(FAILOVER, FAILOVER_PROVIDER);
      MiniDFSNNTopology.NSConf service = new MiniDFSNNTopology.NSConf(NAME_SERVICE);
      for (int number = 1; number <= nameNodes; number++) {
        service.addNN(new MiniDFSNNTopology.NNConf("nn" + number));
      }
      builder.nnTopology(new MiniDFSNNTopology().addNameservice(service));
    }
    cluster = builder.build();
    cluster.waitClusterUp();
    if (nameNodes > 1) {
      cluster.transitionToActive(0);
    }
    cluster.waitActive();
    clientSettings = clientSettings(folder, conf);
    Configuration own = new Configuration(conf);
    clientSettings.forEach(setting -> own.set(setting.getKey(), setting.getValue()));
    files = (DistributedFileSystem) FileSystem.newInstance(own);
    Thread renewal = new Thread(this::renewLeases);
    renewal.setDaemon(true);
    renewal.start();
  }

  /** Hadoop's clients renew their leases each half minute, too late for the lease periods of tests. */
  private void renewLeases() {
    while (true) {
      for (Writer writer : writers.values()) {
        try {
          writer.files.getClient().renewLease();
        } catch (IOException error) {
          // The file is gone or the name node is not there, what the writer finds when it closes the file.
        }
      }
      try {
        Thread.sleep(100);
      } catch (InterruptedException error) {
        return;
      }
    }
  }

  /** Writes what a client's HADOOP_CONF_DIR has. */
  private Configuration clientSettings(File folder, Configuration conf) throws Exception {
    Configuration core = new Configuration(false);
    Configuration hdfs = new Configuration(false);
    hdfs.set("dfs.replication", "2");
    core.set("fs.permissions.umask-mode", "022");
    if (UserGroupInformation.isSecurityEnabled()) {
      core.set("hadoop.security.authentication", "kerberos");
      hdfs.set(PRINCIPAL, conf.get(PRINCIPAL));
    }
    if (nameNodes > 1) {
      core.set("fs.defaultFS", "hdfs://" + NAME_SERVICE);
      hdfs.set("dfs.nameservices", NAME_SERVICE);
      hdfs.set(FAILOVER, FAILOVER_PROVIDER);
      List<String> names = new ArrayList<>();
      for (int index = 0; index < nameNodes; index++) {
        String name = "nn" + (index + 1);
        names.add(name);
        hdfs.set("dfs.namenode.rpc-address." + NAME_SERVICE + "." + name, "127.0.0.1:" + cluster.getNameNodePort(index));
        hdfs.set("dfs.namenode.http-address." + NAME_SERVICE + "." + name, http(index));
      }
      hdfs.set("dfs.ha.namenodes." + NAME_SERVICE, String.join(",", names));
    } else {
      core.set("fs.defaultFS", "hdfs://127.0.0.1:" + cluster.getNameNodePort(0));
      hdfs.set("dfs.namenode.http-address", http(0));
    }
    File target = new File(folder, "conf");
    target.mkdirs();
    Configuration both = new Configuration(false);
    for (Map.Entry<String, Configuration> part : Map.of("core-site.xml", core, "hdfs-site.xml", hdfs).entrySet()) {
      try (OutputStream stream = new FileOutputStream(new File(target, part.getKey()))) {
        part.getValue().writeXml(stream);
      }
      part.getValue().forEach(setting -> both.set(setting.getKey(), setting.getValue()));
    }
    return both;
  }

  private String http(int index) {
    String host = UserGroupInformation.isSecurityEnabled() ? "localhost:" : "127.0.0.1:"; // as Kerberos knows it
    return host + cluster.getNameNode(index).getHttpAddress().getPort();
  }

  private Map<String, Object> addresses() {
    List<String> http = new ArrayList<>();
    for (int index = 0; index < nameNodes; index++) {
      http.add(http(index));
    }
    return Map.of("uri", clientSettings.get("fs.defaultFS"), "http", http);
  }

  private Map<String, Object> reply(JsonNode request) {
    Map<String, Object> reply = new HashMap<>();
    try {
      reply.put("ok", answer(request));
    } catch (Exception | LinkageError error) {
      Throwable cause = error instanceof RemoteException remote ? remote.unwrapRemoteException() : error;
      String message = String.valueOf(cause.getMessage()).split("\n", 2)[0];
      reply.put("error", cause.getClass().getSimpleName() + ": " + message);
    }
    return reply;
  }

  private Object answer(JsonNode request) throws Exception {
    String op = request.get("op").asText();
    if (!request.has("path")) {
      return answerOfCluster(op, request);
    }
    String name = request.get("path").asText();
    Path path = new Path(name);
    switch (op) {
      case "put":
        try (OutputStream stream = files.create(path, true)) {
          stream.write(body(request));
        }
        return null;
      case "read":
        try (var stream = files.open(path)) {
          return Base64.getEncoder().encodeToString(stream.readAllBytes());
        }
      case "delete":
        return files.delete(path, true);
      case "set_time":
        files.setTimes(path, request.get("epoch_ms").asLong(), -1);
        return null;
      case "status":
        return status(files.getFileStatus(path));
      case "list":
        return list(path);
      case "mkdirs":
        files.mkdirs(path);
        files.setPermission(path, permission(request, "755"));
        return null;
      case "chmod":
        files.setPermission(path, permission(request, "755"));
        return null;
      case "chown":
        files.setOwner(path, text(request, "owner", null), text(request, "group", null));
        return null;
      case "upload":
        copy(FileSystem.getLocal(files.getConf()), new Path(request.get("folder").asText()), files, path);
        return null;
      case "download":
        copy(files, path, FileSystem.getLocal(files.getConf()), new Path(request.get("folder").asText()));
        return null;
      case "copy":
        copy(files, new Path(request.get("from").asText()), files, path);
        return null;
      case "rename":
        return files.rename(path, new Path(request.get("to").asText()));
      case "leave_open":
        leaveOpen(name, request);
        return null;
      case "abandon":
        writers.remove(name).files.getClient().closeAllFilesBeingWritten(true);
        return null;
      case "close":
        Writer writer = writers.remove(name);
        writer.stream.close();
        writer.files.close();
        return null;
      case "is_open":
        return !files.isFileClosed(path);
      case "recover_lease":
        return files.recoverLease(path);
      case "quota":
        files.setQuota(path, request.get("names").asLong(), request.get("bytes").asLong());
        return null;
      case "allow_snapshots":
        files.allowSnapshot(path);
        return null;
      case "snapshot":
        return files.createSnapshot(path, request.get("name").asText()).toUri().getPath();
      default:
        throw new IllegalArgumentException("no request of a path: " + op);
    }
  }

  private Object answerOfCluster(String op, JsonNode request) throws Exception {
    int index = request.path("index").asInt();
    switch (op) {
      case "lease_periods":
        softMs = request.get("soft_ms").asLong();
        hardMs = request.get("hard_ms").asLong();
        setLeasePeriods();
        return null;
      case "safe_mode":
        boolean on = request.get("on").asBoolean();
        return files.setSafeMode(on ? SafeModeAction.SAFEMODE_ENTER : SafeModeAction.SAFEMODE_LEAVE);
      case "stop_name_node":
        cluster.shutdownNameNode(index);
        return null;
      case "restart_name_node":
        if (nameNodes > 1) {
          files.rollEdits(); // or it waits for blocks that are deleted since
        }
        cluster.restartNameNode(index, true);
        setLeasePeriods();
        return null;
      case "failover":
        failOver(request.get("to").asInt());
        return null;
      case "stop_data_node":
        stopped.add(cluster.stopDataNode(index));
        return null;
      case "restart_data_nodes":
        for (DataNodeProperties node : stopped) {
          cluster.restartDataNode(node, true);
        }
        stopped.clear();
        cluster.waitActive();
        return null;
      default:
        throw new IllegalArgumentException("no request: " + op);
    }
  }

  private void failOver(int to) throws Exception {
    for (int index = 0; index < nameNodes; index++) {
      if (index != to && isActive(index)) {
        cluster.transitionToStandby(index);
      }
    }
    cluster.transitionToActive(to);
    cluster.waitActive(to);
    setLeasePeriods();
  }

  private boolean isActive(int index) {
    return cluster.getNameNode(index) != null && cluster.getNameNode(index).isActiveState();
  }

  /** A standby does not look after leases, so whoever becomes active is told. */
  private void setLeasePeriods() {
    for (int index = 0; index < nameNodes; index++) {
      if (isActive(index)) {
        NameNodeAdapter.setLeasePeriod(cluster.getNamesystem(index), softMs, hardMs);
      }
    }
  }

  /** Writes as a client of its own, whose lease is renewed until the file is closed or abandoned. */
  private void leaveOpen(String name, JsonNode request) throws Exception {
    Configuration own = new Configuration(files.getConf());
    own.set("mapreduce.task.attempt.id", text(request, "holder", "writer")); // is part of the lease holder's name
    String user = text(request, "user", UserGroupInformation.getLoginUser().getShortUserName());
    UserGroupInformation identity =
        UserGroupInformation.isSecurityEnabled()
            ? UserGroupInformation.getLoginUser()
            : UserGroupInformation.createRemoteUser(user);
    PrivilegedExceptionAction<FileSystem> login = () -> FileSystem.newInstance(own);
    DistributedFileSystem client = (DistributedFileSystem) identity.doAs(login);
    Path path = new Path(name);
    FSDataOutputStream stream =
        request.path("append").asBoolean() ? client.append(path) : client.create(path, true);
    byte[] body = body(request);
    int seen = request.path("unseen").asBoolean() ? 1 : body.length;
    stream.write(body, 0, seen);
    stream.hflush(); // a client tells the name node the length at its first flush alone
    stream.write(body, seen, body.length - seen);
    stream.hflush();
    writers.put(name, new Writer(client, stream));
  }

  private Map<String, Object> status(FileStatus status) {
    Map<String, Object> facts = new HashMap<>();
    facts.put("owner", status.getOwner());
    facts.put("group", status.getGroup());
    facts.put("permission", String.format("%o", status.getPermission().toShort()));
    facts.put("length", status.getLen());
    facts.put("modified", status.getModificationTime());
    facts.put("replication", status.getReplication());
    facts.put("folder", status.isDirectory());
    return facts;
  }

  /** The paths of all files and folders below one, sorted. */
  private List<String> list(Path folder) throws Exception {
    List<String> names = new ArrayList<>();
    for (FileStatus child : files.listStatus(folder)) {
      names.add(child.getPath().toUri().getPath());
      if (child.isDirectory()) {
        names.addAll(list(child.getPath()));
      }
    }
    return names;
  }

  /** Copies all files below a folder of this host or of HDFS, with their modification times. Each takes 90 ms. */
  private static void copy(FileSystem from, Path source, FileSystem to, Path target) throws Exception {
    int start = from.makeQualified(source).toUri().getPath().length() + 1;
    List<Callable<Void>> copies = new ArrayList<>();
    for (var found = from.listFiles(source, true); found.hasNext(); ) {
      FileStatus file = found.next();
      Path copied = new Path(target, file.getPath().toUri().getPath().substring(start));
      copies.add(
          () -> {
            FileUtil.copy(from, file.getPath(), to, copied, false, to.getConf());
            to.setTimes(copied, file.getModificationTime(), -1);
            return null;
          });
    }
    ExecutorService pool = Executors.newFixedThreadPool(COPIERS);
    try {
      for (Future<Void> copied : pool.invokeAll(copies)) {
        copied.get();
      }
    } finally {
      pool.shutdown();
    }
  }

  private static byte[] body(JsonNode request) {
    return Base64.getDecoder().decode(request.get("body").asText());
  }

  private static String text(JsonNode request, String field, String missing) {
    return request.hasNonNull(field) ? request.get(field).asText() : missing;
  }

  private static FsPermission permission(JsonNode request, String missing) {
    return new FsPermission(text(request, "permission", missing));
  }
}
