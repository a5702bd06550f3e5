import java.io.BufferedReader;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * A guest of Hocket's lab: the study of 2006 on Java threads, on the JVM of today.
 *
 * <p>It speaks the lab's protocol (docs/lab.md, "guest"): a line of JSON for each round, and a line back.
 * One file without libraries, so that javac alone builds it.
 */
public final class Guest {
    private static final int MOST_THREADS = 4096;
    private static final int MOST_PIXELS = 1 << 24;

    /** Kernel threads of this JVM before it has started one for the lab. */
    private static int baseThreads;

    private Guest() {}

    public static void main(String[] arguments) throws IOException {
        baseThreads = kernelThreads();
        say("{\"hocket-guest\": 1}");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            long readAt = System.nanoTime();
            Asked asked = new Asked(line);
            String round = asked.number("round");
            try {
                String answer = "{\"round\": " + round + answer(asked);
                say(answer + ", \"busy_ns\": " + (System.nanoTime() - readAt) + "}");
            } catch (Exception | OutOfMemoryError problem) {
                String why = String.valueOf(problem).replaceAll("[^A-Za-z0-9 .:_-]", " ");
                say("{\"round\": " + round + ", \"error\": \"" + why + "\"}");
            }
        }
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static String answer(Asked asked) throws Exception {
        switch (asked.text("work")) {
            case "picture":
                return new Drawing(asked).turn();
            case "counter":
                return new Counting(asked).turn();
            case "start":
                return start(asked);
            case "priorities":
                return priorities();
            case "warm-up":
                return warmUp(asked);
            default:
                throw new IllegalArgumentException("unknown work");
        }
    }

    /** Draws a picture in every way to write a pixel, so that each JVM has compiled the same before it is timed. */
    private static String warmUp(Asked asked) throws Exception {
        long before = System.nanoTime();
        for (String protection : Drawing.PROTECTIONS) {
            new Drawing(asked, protection).turn();
        }
        String java = System.getProperty("java.version").replaceAll("[^A-Za-z0-9 .:_+-]", " ");
        return took(System.nanoTime() - before, Drawing.PROTECTIONS.length) + ", \"java\": \"" + java + "\"";
    }

    static String took(long timeNs, long ops) {
        return ", \"time_ns\": " + Math.max(timeNs, 1) + ", \"ops\": " + ops;
    }

    /** A line of the lab, whose values are numbers and texts without quotes. */
    private static final class Asked {
        private final String line;

        Asked(String line) {
            this.line = line;
        }

        String text(String name) {
            Matcher found = Pattern.compile("\"" + name + "\"\\s*:\\s*\"([^\"]*)\"").matcher(line);
            return found.find() ? found.group(1) : "";
        }

        String number(String name) {
            Matcher found = Pattern.compile("\"" + name + "\"\\s*:\\s*(\\d+)").matcher(line);
            return found.find() ? found.group(1) : "0";
        }

        int whole(String name, int most) {
            int value = Integer.parseInt(text(name));
            if (value < 1 || value > most) {
                throw new IllegalArgumentException(name + " out of range");
            }
            return value;
        }

        double real(String name) {
            return Double.parseDouble(text(name));
        }
    }

    // --- threads that start together ------------------------------------------------------------------------------

    /** A thread of this kind, not started. Virtual ones came with Java 21; this is compiled by older ones too. */
    private static Thread thread(String kind, Runnable work) throws ReflectiveOperationException {
        if (kind.equals("platform")) {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        }
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        return (Thread) type.getMethod("unstarted", Runnable.class).invoke(builder, work);
    }

    /** What the threads of a round use. */
    private static final class Used {
        private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

        private final LongAdder cpuNs = new LongAdder();
        private final boolean countsCpu;
        private final long[] before = switches();
        private long[] after = before;

        /** @param kind of threads; the JVM knows the CPU time of platform threads only */
        Used(String kind) {
            boolean knows = kind.equals("platform") || kind.equals("fork-join");
            countsCpu = knows && THREADS.isCurrentThreadCpuTimeSupported();
        }

        /** Runs a thread's part, and adds the CPU time that it takes. */
        void during(Runnable work) {
            long begun = countsCpu ? THREADS.getCurrentThreadCpuTime() : 0;
            work.run();
            if (countsCpu) {
                cpuNs.add(THREADS.getCurrentThreadCpuTime() - begun);
            }
        }

        /** To be called while the threads still live: the system forgets those of the dead. */
        void countSwitches() {
            after = switches();
        }

        @Override
        public String toString() {
            String cpu = countsCpu ? ", \"draw_cpu_ns\": " + cpuNs.sum() : "";
            return cpu + ", \"voluntary\": " + Math.max(after[0] - before[0], 0)
                    + ", \"involuntary\": " + Math.max(after[1] - before[1], 0);
        }
    }

    /**
     * Nanoseconds from the moment when all threads may begin to the end of the last one; without starting them.
     *
     * @param priority of platform threads; 0 leaves it to the JVM
     */
    private static long together(String kind, int threads, int priority, Used used, Runnable work) throws Exception {
        CountDownLatch there = new CountDownLatch(threads);
        CountDownLatch begin = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(threads);
        CountDownLatch leave = new CountDownLatch(1);
        Runnable part = () -> {
            there.countDown();
            try {
                begin.await();
                try {
                    used.during(work);
                } finally {
                    done.countDown();
                }
                leave.await();
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        };
        List<Thread> started = new ArrayList<>();
        try {
            for (int number = 0; number < threads; number++) {
                Thread thread = thread(kind, part);
                if (priority > 0) {
                    thread.setPriority(priority);
                }
                thread.start();
                started.add(thread);
            }
        } catch (OutOfMemoryError noMore) {
            started.forEach(Thread::interrupt);
            throw noMore;
        }
        there.await();
        long before = System.nanoTime();
        begin.countDown();
        done.await();
        long time = System.nanoTime() - before;
        used.countSwitches();
        leave.countDown();
        for (Thread thread : started) {
            thread.join();
        }
        return time;
    }

    /** Context switches of all living threads of this JVM: voluntary and involuntary ones. */
    private static long[] switches() {
        long[] sum = new long[2];
        String[] threads = new File("/proc/self/task").list();
        byte[] text = new byte[4096];
        for (String thread : threads == null ? new String[0] : threads) {
            try (FileInputStream status = new FileInputStream("/proc/self/task/" + thread + "/status")) {
                String read = new String(text, 0, Math.max(status.read(text), 0), StandardCharsets.ISO_8859_1);
                sum[0] += numberIn(read, "\nvoluntary_ctxt_switches:");
                sum[1] += numberIn(read, "\nnonvoluntary_ctxt_switches:");
            } catch (IOException ended) {
                // A thread that has ended meanwhile was not one of the round's.
            }
        }
        return sum;
    }

    /** How many threads the system counts in this process. */
    private static int kernelThreads() throws IOException {
        return (int) numberIn(Files.readString(Path.of("/proc/self/status")), "\nThreads:");
    }

    /** The number behind a name in proc(5)'s status; 0 where the system does not tell it. */
    private static long numberIn(String status, String name) {
        int at = status.indexOf(name);
        if (at < 0) {
            return 0;
        }
        int end = status.indexOf('\n', at + name.length());
        return Long.parseLong(status.substring(at + name.length(), end < 0 ? status.length() : end).trim());
    }

    // --- the picture ----------------------------------------------------------------------------------------------

    /** How a pixel is written. It needs no protection: no two threads write the same one. */
    private interface Writing {
        void write(int pixel, int iterations);
    }

    private static final class Drawing {
        static final String[] PROTECTIONS = {
            "unlocked", "synchronized", "reentrant", "pixel-locks", "pixel-locks-atomic", "pixel-locks-adder"
        };

        private final int width;
        private final int height;
        private final int limit;
        private final double centreRe;
        private final double centreIm;
        private final double step;
        private final String kind;
        private final String protection;
        private final int threads;
        private final int priority;
        private final int[] pixels;
        private final Used used;

        private int counted;
        private final AtomicInteger atomic = new AtomicInteger();
        private final LongAdder adder = new LongAdder();
        private final ReentrantLock lock = new ReentrantLock();

        /** A lock for each pixel; made once, since they have no state between rounds. */
        private static Object[] locks = new Object[0];

        Drawing(Asked asked) {
            this(asked, asked.text("writing"));
        }

        Drawing(Asked asked, String protection) {
            width = asked.whole("width", MOST_PIXELS);
            height = asked.whole("height", MOST_PIXELS / width);
            limit = asked.whole("limit", Integer.MAX_VALUE);
            centreRe = asked.real("centre_re");
            centreIm = asked.real("centre_im");
            step = asked.real("step");
            kind = asked.text("kind");
            this.protection = protection;
            threads = asked.whole("threads", MOST_THREADS);
            String asks = asked.text("priority");
            priority = asks.isEmpty() ? 0 : asked.whole("priority", Thread.MAX_PRIORITY);
            pixels = new int[width * height];
            if (protection.startsWith("pixel-locks") && locks.length < pixels.length) {
                locks = new Object[pixels.length];
                for (int pixel = 0; pixel < locks.length; pixel++) {
                    locks[pixel] = new Object();
                }
            }
            used = new Used(kind);
        }

        String turn() throws Exception {
            long time = draw(writing());
            long all = pixels.length;
            long seen = counted + atomic.get() + adder.sum();
            String count = protection.equals("unlocked") ? "" : ", \"counted\": " + seen;
            return took(time, all) + used + count + ", \"checksum\": \"" + String.format("%016x", checksum()) + "\"";
        }

        private Writing writing() {
            switch (protection) {
                case "unlocked":
                    return (pixel, iterations) -> pixels[pixel] = iterations;
                case "synchronized":
                    return this::writeSynchronized;
                case "reentrant":
                    return (pixel, iterations) -> {
                        lock.lock();
                        try {
                            counted++;
                            pixels[pixel] = iterations;
                        } finally {
                            lock.unlock();
                        }
                    };
                case "pixel-locks":
                    return (pixel, iterations) -> {
                        countOne();
                        writeUnderItsLock(pixel, iterations);
                    };
                case "pixel-locks-atomic":
                    return (pixel, iterations) -> {
                        atomic.incrementAndGet();
                        writeUnderItsLock(pixel, iterations);
                    };
                case "pixel-locks-adder":
                    return (pixel, iterations) -> {
                        adder.increment();
                        writeUnderItsLock(pixel, iterations);
                    };
                default:
                    throw new IllegalArgumentException("unknown writing");
            }
        }

        /** The study's method: one lock around counting and writing. */
        private synchronized void writeSynchronized(int pixel, int iterations) {
            counted++;
            pixels[pixel] = iterations;
        }

        private synchronized void countOne() {
            counted++;
        }

        private void writeUnderItsLock(int pixel, int iterations) {
            synchronized (locks[pixel]) {
                pixels[pixel] = iterations;
            }
        }

        private long draw(Writing writing) throws Exception {
            switch (kind) {
                case "stream":
                    return drawByStream(writing);
                case "fork-join":
                    return drawByForkJoin(writing);
                default:
                    AtomicInteger next = new AtomicInteger();
                    return together(kind, threads, priority, used, () -> {
                        for (int row = next.getAndIncrement(); row < height; row = next.getAndIncrement()) {
                            drawRow(row, writing);
                        }
                    });
            }
        }

        private long drawByStream(Writing writing) {
            long before = System.nanoTime();
            IntStream.range(0, height).parallel().forEach(row -> drawRow(row, writing));
            long time = System.nanoTime() - before;
            used.countSwitches();
            return time;
        }

        /**
         * JOMP's static loop: a piece for each thread, of which this one draws the first, and a join that waits busily.
         * The threads of the pool are there before the time begins, as those of the other kinds are.
         */
        private long drawByForkJoin(Writing writing) throws Exception {
            int helpers = threads - 1;
            AtomicReference<Throwable> lost = new AtomicReference<>();
            ForkJoinPool pool = new ForkJoinPool(
                    Math.max(helpers, 1),
                    ForkJoinPool.defaultForkJoinWorkerThreadFactory,
                    (thread, why) -> lost.set(why),
                    false);
            try {
                startThreads(pool, helpers, lost);
                long before = System.nanoTime();
                // The busy wait costs CPU time, too.
                used.during(() -> drawPieces(pool, writing));
                long time = System.nanoTime() - before;
                used.countSwitches();
                return time;
            } finally {
                // Also those that wait for others which the system does not have.
                pool.shutdownNow();
                pool.awaitTermination(10, TimeUnit.SECONDS);
            }
        }

        /** Returns when so many threads of the pool have had a task each; then none of them has one any more. */
        private static void startThreads(ForkJoinPool pool, int helpers, AtomicReference<Throwable> lost)
                throws Exception {
            CountDownLatch there = new CountDownLatch(helpers);
            List<ForkJoinTask<?>> greetings = new ArrayList<>();
            for (int number = 0; number < helpers; number++) {
                greetings.add(pool.submit(() -> {
                    there.countDown();
                    // A thread that went on would take the next greeting, too.
                    there.await();
                    return null;
                }));
            }
            long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            while (!there.await(10, TimeUnit.MILLISECONDS)) {
                // A thread of the pool starts the next one, so this one does not hear that there is none.
                if (lost.get() != null) {
                    throw new IllegalStateException(lost.get().getMessage());
                }
                if (System.nanoTime() - until > 0) {
                    throw new IllegalStateException("the threads of the pool do not start");
                }
            }
            for (ForkJoinTask<?> greeting : greetings) {
                greeting.get();
            }
        }

        private void drawPieces(ForkJoinPool pool, Writing writing) {
            List<ForkJoinTask<?>> pieces = new ArrayList<>();
            for (int number = 1; number < threads; number++) {
                int piece = number;
                pieces.add(pool.submit(() -> used.during(() -> drawPiece(piece, writing))));
            }
            drawPiece(0, writing);
            for (ForkJoinTask<?> piece : pieces) {
                while (!piece.isDone()) {
                    Thread.onSpinWait();
                }
                piece.join();
            }
        }

        private void drawPiece(int number, Writing writing) {
            int to = (int) ((long) height * (number + 1) / threads);
            for (int row = (int) ((long) height * number / threads); row < to; row++) {
                drawRow(row, writing);
            }
        }

        private void drawRow(int row, Writing writing) {
            double im = centreIm - (row - (height - 1.0) / 2.0) * step;
            for (int column = 0; column < width; column++) {
                double re = centreRe + (column - (width - 1.0) / 2.0) * step;
                writing.write(row * width + column, escape(re, im, limit));
            }
        }

        /** Iterations of z^2 + c, from z = 0, until |z| > 2; Java rounds every operation as IEEE 754 says. */
        private static int escape(double re, double im, int limit) {
            double x = 0.0;
            double y = 0.0;
            int iterations = 0;
            while (iterations < limit) {
                double xx = x * x;
                double yy = y * y;
                if (xx + yy > 4.0) {
                    break;
                }
                y = 2.0 * x * y + im;
                x = xx - yy + re;
                iterations++;
            }
            return iterations;
        }

        /** FNV-1a over 64-bit words, as the lab's own checksum of a picture. */
        private long checksum() {
            long sum = 0xcbf29ce484222325L;
            sum = (sum ^ width) * 0x100000001b3L;
            sum = (sum ^ height) * 0x100000001b3L;
            for (int pixel : pixels) {
                sum = (sum ^ pixel) * 0x100000001b3L;
            }
            return sum;
        }
    }

    // --- a counter that all threads share -------------------------------------------------------------------------

    private static final class Counting {
        private final String way;
        private final String kind;
        private final int threads;
        private final int each;

        private long counted;
        private final AtomicInteger atomic = new AtomicInteger();
        private final LongAdder adder = new LongAdder();
        private final ReentrantLock lock = new ReentrantLock();

        Counting(Asked asked) {
            way = asked.text("counter");
            kind = asked.text("kind");
            threads = asked.whole("threads", MOST_THREADS);
            each = asked.whole("increments", 1 << 24) / threads;
        }

        String turn() throws Exception {
            Used used = new Used(kind);
            long time = together(kind, threads, 0, used, work());
            long sum = counted + atomic.get() + adder.sum();
            return took(time, (long) each * threads) + used + ", \"counted\": " + sum;
        }

        private Runnable work() {
            switch (way) {
                case "synchronized":
                    return () -> {
                        for (int n = 0; n < each; n++) {
                            addSynchronized();
                        }
                    };
                case "reentrant":
                    return () -> {
                        for (int n = 0; n < each; n++) {
                            lock.lock();
                            try {
                                counted++;
                            } finally {
                                lock.unlock();
                            }
                        }
                    };
                case "atomic":
                    return () -> {
                        for (int n = 0; n < each; n++) {
                            atomic.incrementAndGet();
                        }
                    };
                case "adder":
                    return () -> {
                        for (int n = 0; n < each; n++) {
                            adder.increment();
                        }
                    };
                default:
                    throw new IllegalArgumentException("unknown counter");
            }
        }

        private synchronized void addSynchronized() {
            counted++;
        }
    }

    // --- threads as such ------------------------------------------------------------------------------------------

    /**
     * So many threads that are there at once: the time from the first one's start until all are there, and how many more
     * threads the system counts then.
     */
    private static String start(Asked asked) throws Exception {
        String kind = asked.text("kind");
        int threads = asked.whole("threads", MOST_THREADS);
        CountDownLatch there = new CountDownLatch(threads);
        CountDownLatch end = new CountDownLatch(1);
        List<Thread> started = new ArrayList<>();
        int threadsBefore = kernelThreads();
        long before = System.nanoTime();
        try {
            for (int number = 0; number < threads; number++) {
                Thread thread = thread(kind, () -> {
                    there.countDown();
                    try {
                        end.await();
                    } catch (InterruptedException ended) {
                        Thread.currentThread().interrupt();
                    }
                });
                thread.start();
                started.add(thread);
            }
            there.await();
            long time = System.nanoTime() - before;
            int more = kernelThreads() - threadsBefore;
            return took(time, threads) + ", \"counted\": " + started.size()
                    + ", \"kernel_threads\": " + more + ", \"base_threads\": " + baseThreads;
        } finally {
            end.countDown();
            for (Thread thread : started) {
                thread.join();
            }
        }
    }

    /** The nice value that the system reports for a thread of each priority, and for one whose priority nobody set. */
    private static String priorities() throws Exception {
        int[] nice = new int[Thread.MAX_PRIORITY + 1];
        long before = System.nanoTime();
        for (int priority = 0; priority <= Thread.MAX_PRIORITY; priority++) {
            int own = priority;
            Thread thread = new Thread(() -> nice[own] = niceOfThisThread());
            if (priority > 0) {
                thread.setPriority(priority);
            }
            thread.start();
            thread.join();
        }
        long time = System.nanoTime() - before;
        StringBuilder told = new StringBuilder(took(time, nice.length));
        for (int priority = 0; priority <= Thread.MAX_PRIORITY; priority++) {
            if (nice[priority] == UNKNOWN) {
                throw new IOException("the system does not tell the nice value of a thread");
            }
            String name = priority > 0 ? String.valueOf(priority) : "unset";
            told.append(", \"nice-").append(name).append("\": ").append(nice[priority]);
        }
        return told.toString();
    }

    private static final int UNKNOWN = 99;

    /** Field 19 of proc(5)'s stat, counted after the name, which may hold blanks and brackets. */
    private static int niceOfThisThread() {
        try {
            String stat = Files.readString(Path.of("/proc/thread-self/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            return Integer.parseInt(fields[19 - 3]);
        } catch (IOException | RuntimeException unreadable) {
            return UNKNOWN;
        }
    }
}
