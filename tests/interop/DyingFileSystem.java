import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The local file system of a process that dies at one of its changes to one table. Every change is an event: "create
 * p/file", "close p/file", "delete p/file", "rename p/new", "mkdir p". From the death on nothing reaches the table, as if
 * the process were gone, until the file system is revived; or the whole JVM is gone. Compiled by the judge with Janino,
 * which knows no lambdas.
 */
public class DyingFileSystem extends LocalFileSystem {
    private final Raw raw;

    public DyingFileSystem() {
        this(new Raw());
    }

    private DyingFileSystem(Raw raw) {
        super(raw);
        this.raw = raw;
    }

    /** Lets it die at the number-th event that the last pattern finds, once each pattern before has found one. */
    public void arm(String base, String patterns, int number, boolean after, boolean halt) {
        raw.arm(base, patterns.split("\n"), number, after, halt);
    }

    /** The events since it was armed, one a line. */
    public String seen() {
        return raw.seen();
    }

    /** Ends it; says whether it had died. */
    public boolean revive() {
        return raw.revive();
    }

    public static class Raw extends RawLocalFileSystem {
        private String base = null;
        private String[] patterns;
        private int next;
        private int left;
        private boolean after;
        private boolean halt;
        private boolean dead;
        private StringBuilder seen = new StringBuilder();

        synchronized String seen() {
            return seen.toString();
        }

        synchronized void arm(String base, String[] patterns, int number, boolean after, boolean halt) {
            this.base = base + "/";
            this.patterns = patterns;
            this.next = 0;
            this.left = number;
            this.after = after;
            this.halt = halt;
            this.dead = false;
            this.seen = new StringBuilder();
        }

        synchronized boolean revive() {
            base = null;
            return dead;
        }

        private boolean watched(Path file) {
            return base != null && file.toUri().getPath().startsWith(base);
        }

        private String event(String what, Path file) {
            return what + " " + file.toUri().getPath().substring(base.length());
        }

        private boolean due(String event) {
            if (event.endsWith(".crc") || !Pattern.compile(patterns[next]).matcher(event).find()) {
                return false;
            }
            if (next < patterns.length - 1) {
                next += 1;
                return false;
            }
            left -= 1;
            return left == 0;
        }

        synchronized void begins(String what, Path file) throws IOException {
            if (!watched(file)) {
                return;
            }
            if (!dead) {
                seen.append(event(what, file)).append('\n');
            }
            if (!dead && !after && due(event(what, file))) {
                die();
            }
            if (dead) {
                throw new IOException("the process is dead: " + what + " " + file);
            }
        }

        synchronized void ended(String what, Path file) throws IOException {
            if (watched(file) && !dead && after && due(event(what, file))) {
                die();
            }
        }

        private void die() {
            if (halt) {
                Runtime.getRuntime().halt(137);
            }
            dead = true;
        }

        /** Whether a stream of before may still write. */
        synchronized void alive(Path file) throws IOException {
            if (dead && watched(file)) {
                throw new IOException("the process is dead: write " + file);
            }
        }

        protected OutputStream createOutputStreamWithMode(Path file, boolean append, FsPermission permission)
                throws IOException {
            begins("create", file);
            OutputStream stream = new Stream(this, file, super.createOutputStreamWithMode(file, append, permission));
            ended("create", file);
            return stream;
        }

        public boolean delete(Path file, boolean recursive) throws IOException {
            begins("delete", file);
            boolean done = super.delete(file, recursive);
            ended("delete", file);
            return done;
        }

        public boolean rename(Path source, Path target) throws IOException {
            begins("rename", target);
            boolean done = super.rename(source, target);
            ended("rename", target);
            return done;
        }

        public boolean mkdirs(Path folder) throws IOException {
            begins("mkdir", folder);
            boolean done = super.mkdirs(folder);
            ended("mkdir", folder);
            return done;
        }

        public void setPermission(Path file, FsPermission permission) throws IOException {
            alive(file);
            if (permission.getStickyBit()) {
                super.setPermission(file, permission);
            } else {
                // Without its native library Hadoop starts a chmod for each file: forty in each write.
                Files.setPosixFilePermissions(
                        pathToFile(file).toPath(), PosixFilePermissions.fromString(permission.toString()));
            }
        }

        public void setTimes(Path file, long modified, long accessed) throws IOException {
            alive(file);
            super.setTimes(file, modified, accessed);
        }
    }

    public static class Stream extends FilterOutputStream {
        private final Raw raw;
        private final Path file;
        private boolean closed = false;

        Stream(Raw raw, Path file, OutputStream out) {
            super(out);
            this.raw = raw;
            this.file = file;
        }

        public void write(int one) throws IOException {
            raw.alive(file);
            out.write(one);
        }

        public void write(byte[] bytes, int offset, int length) throws IOException {
            raw.alive(file);
            out.write(bytes, offset, length);
        }

        public void close() throws IOException {
            if (closed) {
                return;
            }
            closed = true;
            out.close();
            raw.begins("close", file);
            raw.ended("close", file);
        }
    }
}
