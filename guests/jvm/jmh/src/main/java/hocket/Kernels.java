package hocket;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/** One step of what the guest's threads do: a shared counter in four ways, and a point of the picture. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Threads(2)
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class Kernels {
    private int counter;
    private final AtomicInteger atomic = new AtomicInteger();
    private final LongAdder adder = new LongAdder();
    private final ReentrantLock lock = new ReentrantLock();

    @Benchmark
    public synchronized int counterSynchronized() {
        return ++counter;
    }

    @Benchmark
    public int counterReentrant() {
        lock.lock();
        try {
            return ++counter;
        } finally {
            lock.unlock();
        }
    }

    @Benchmark
    public int counterAtomic() {
        return atomic.incrementAndGet();
    }

    @Benchmark
    public void counterAdder() {
        adder.increment();
    }

    /** A state of each thread's own: read by JMH anew, so that the point is no constant. */
    @State(Scope.Thread)
    public static class Point {
        double re = -0.75;
        double im = 0.05;
        int limit = 32;
    }

    @Benchmark
    public int point(Point c) {
        double x = 0.0;
        double y = 0.0;
        int iterations = 0;
        while (iterations < c.limit) {
            double xx = x * x;
            double yy = y * y;
            if (xx + yy > 4.0) {
                break;
            }
            y = 2.0 * x * y + c.im;
            x = xx - yy + c.re;
            iterations++;
        }
        return iterations;
    }
}
