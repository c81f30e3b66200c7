package topwater;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;

/**
 * Of every pane, the k best of a task's rows, and how many rows there were.
 *
 * <p>Rows are (ticks, score, key), and where there are heartbeats, whether it is one. Out come rows of
 * (shard, task, part, portion): the same portion for every shard, because what is left is small.
 * topwater/spark/sieve.py reads the portions. After a change, run scripts/build_jar.py.
 */
public final class Sieve implements MapPartitionsFunction<Row, Row> {
    private static final long serialVersionUID = 1L;

    static final long MARK = 0x6576656973706f74L; // topsieve, backwards
    static final int MOST_SLOTS = 1 << 20;
    static final long MOST_BYTES = 1L << 26;

    private final int k;
    private final long start;
    private final long pane;
    private final long ticksPerMilli;
    private final long farthest;
    private final boolean text;
    private final boolean beats;
    private final int shards;

    /** All of them are the query's own, in milliseconds; farthest is in ticks. */
    public Sieve(
            int k,
            long start,
            long pane,
            long ticksPerMilli,
            long farthest,
            boolean text,
            boolean beats,
            int shards) {
        this.k = k;
        this.start = start;
        this.pane = pane;
        this.ticksPerMilli = ticksPerMilli;
        this.farthest = farthest;
        this.text = text;
        this.beats = beats;
        this.shards = shards;
    }

    @Override
    public Iterator<Row> call(Iterator<Row> rows) {
        return new Portions(this, rows);
    }

    /** Portions, each of as many rows as fit into memory: nearly always one. */
    static final class Portions implements Iterator<Row> {
        private final Sieve sieve;
        private final Iterator<Row> rows;
        private final ArrayDeque<Row> ready = new ArrayDeque<>();
        private int part = 0;

        Portions(Sieve sieve, Iterator<Row> rows) {
            this.sieve = sieve;
            this.rows = rows;
        }

        @Override
        public boolean hasNext() {
            if (ready.isEmpty() && rows.hasNext()) {
                Kept kept = new Kept(sieve);
                while (rows.hasNext() && kept.slots < MOST_SLOTS && kept.bytes < MOST_BYTES) {
                    kept.add(rows.next());
                }
                byte[] packed = kept.packed();
                Integer task = Integer.valueOf(TaskContext.getPartitionId());
                for (int shard = 0; shard < sieve.shards; shard++) {
                    Object[] row = {Integer.valueOf(shard), task, Integer.valueOf(part), packed};
                    ready.add(RowFactory.create(row));
                }
                part++;
            }
            return !ready.isEmpty();
        }

        @Override
        public Row next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            return ready.remove();
        }
    }

    /** What is left of the rows so far. The order of the counts is that of sieve.py. */
    static final class Kept {
        int slots = 0;
        long bytes = 0;

        private final Sieve sieve;
        private final HashMap<Long, Pane> panes = new HashMap<>();
        private Pane current = null;
        private long events = 0;
        private long beforeStart = 0;
        private long badKey = 0;
        private long badTime = 0;
        private long badScore = 0;

        Kept(Sieve sieve) {
            this.sieve = sieve;
        }

        /** The same rules as topwater/monitor/columns.py has. */
        void add(Row row) {
            boolean event = !(sieve.beats && !row.isNullAt(3) && row.getBoolean(3));
            boolean keyed = event && !row.isNullAt(2);
            if (event) {
                events++;
            }
            long ticks = row.isNullAt(0) ? Long.MAX_VALUE : row.getLong(0);
            if (ticks <= -sieve.farthest || ticks >= sieve.farthest) {
                if (!event) {
                    return;
                } else if (keyed) {
                    badTime++;
                } else {
                    badKey++;
                }
                return;
            }
            long time = Math.floorDiv(ticks, sieve.ticksPerMilli);
            if (!keyed) {
                if (event) {
                    badKey++;
                }
                if (time > sieve.start) {
                    at(time).see(time);
                }
            } else if (time <= sieve.start) {
                beforeStart++;
            } else {
                double score = row.isNullAt(1) ? Double.NaN : row.getDouble(1);
                if (Double.isNaN(score) || Double.isInfinite(score)) {
                    badScore++;
                } else {
                    Pane pane = at(time);
                    pane.see(time);
                    pane.events++;
                    if (score >= pane.floor) {
                        keep(pane, score, time, row.get(2));
                    }
                }
            }
        }

        private void keep(Pane pane, double score, long time, Object key) {
            slots -= pane.scores.length;
            bytes -= pane.bytes;
            pane.add(score, time, key, sieve.k);
            slots += pane.scores.length;
            bytes += pane.bytes;
        }

        /** Most rows are of the same pane as the one before. */
        private Pane at(long time) {
            if (current == null || time < current.opens || time >= current.opens + sieve.pane) {
                Long number = Long.valueOf((time - sieve.start - 1) / sieve.pane);
                current = panes.get(number);
                if (current == null) {
                    current = new Pane(number.longValue(), sieve);
                    panes.put(number, current);
                    slots += current.scores.length;
                }
            }
            return current;
        }

        byte[] packed() {
            Long[] numbers = panes.keySet().toArray(new Long[0]);
            Arrays.sort(numbers);
            Pane[] ordered = new Pane[numbers.length];
            int count = 0;
            long keys = 0;
            for (int i = 0; i < numbers.length; i++) {
                ordered[i] = panes.get(numbers[i]);
                ordered[i].cut(sieve.k);
                count += ordered[i].size;
                keys += ordered[i].bytes;
            }
            long size = 8L * (9 + 3L * ordered.length + 3L * count + 1) + keys;
            ByteBuffer out = ByteBuffer.allocate(Math.toIntExact(size));
            out.order(ByteOrder.LITTLE_ENDIAN);
            out.putLong(MARK);
            out.putLong(ordered.length).putLong(count).putLong(sieve.text ? 1 : 0);
            out.putLong(events).putLong(beforeStart).putLong(badKey).putLong(badTime).putLong(badScore);
            for (int i = 0; i < ordered.length; i++) {
                out.putLong(ordered[i].number).putLong(ordered[i].events).putLong(ordered[i].newest);
            }
            for (int i = 0; i < ordered.length; i++) {
                for (int j = 0; j < ordered[i].size; j++) {
                    out.putDouble(ordered[i].scores[j]);
                }
            }
            for (int i = 0; i < ordered.length; i++) {
                for (int j = 0; j < ordered[i].size; j++) {
                    out.putLong(ordered[i].times[j]);
                }
            }
            if (sieve.text) {
                putText(ordered, out);
            } else {
                putNumbers(ordered, out);
            }
            return Arrays.copyOf(out.array(), out.position());
        }

        private static void putNumbers(Pane[] panes, ByteBuffer out) {
            for (int i = 0; i < panes.length; i++) {
                for (int j = 0; j < panes[i].size; j++) {
                    out.putLong(((Long) panes[i].keys[j]).longValue());
                }
            }
        }

        /** Where each ends, then all of them. */
        private static void putText(Pane[] panes, ByteBuffer out) {
            long end = 0;
            out.putLong(end);
            for (int i = 0; i < panes.length; i++) {
                for (int j = 0; j < panes[i].size; j++) {
                    end += ((byte[]) panes[i].keys[j]).length;
                    out.putLong(end);
                }
            }
            for (int i = 0; i < panes.length; i++) {
                for (int j = 0; j < panes[i].size; j++) {
                    out.put((byte[]) panes[i].keys[j]);
                }
            }
        }
    }

    /** The rows of one pane that may be among its k best, and all that tie with the last of them. */
    static final class Pane {
        final long number;
        final long opens;
        long events = 0;
        long newest = Long.MIN_VALUE;
        double floor = Double.NEGATIVE_INFINITY;
        double[] scores = new double[4];
        long[] times = new long[4];
        Object[] keys = new Object[4];
        int size = 0;
        long bytes = 0;

        Pane(long number, Sieve sieve) {
            this.number = number;
            this.opens = sieve.start + 1 + number * sieve.pane;
        }

        void see(long time) {
            if (time > newest) {
                newest = time;
            }
        }

        void add(double score, long time, Object key, int k) {
            if (size == scores.length) {
                if (size >= 32 && size >= 2L * k) {
                    cut(k);
                }
                // Where nearly all tie, cutting frees nothing.
                if (size > scores.length / 2) {
                    scores = Arrays.copyOf(scores, 2 * size);
                    times = Arrays.copyOf(times, 2 * size);
                    keys = Arrays.copyOf(keys, 2 * size);
                }
            }
            scores[size] = score;
            times[size] = time;
            keys[size] = key;
            size++;
            bytes += length(key);
        }

        void cut(int k) {
            if (size <= k) {
                return;
            }
            double[] ascending = Arrays.copyOf(scores, size);
            Arrays.sort(ascending);
            // Arrays.sort puts -0.0 before 0.0, but they tie: the comparison below keeps both.
            floor = ascending[size - k];
            int kept = 0;
            bytes = 0;
            for (int i = 0; i < size; i++) {
                if (scores[i] >= floor) {
                    scores[kept] = scores[i];
                    times[kept] = times[i];
                    keys[kept] = keys[i];
                    bytes += length(keys[kept]);
                    kept++;
                }
            }
            Arrays.fill(keys, kept, size, null);
            size = kept;
        }

        private static int length(Object key) {
            return key instanceof byte[] ? ((byte[]) key).length : 0;
        }
    }
}
