package topwater;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;

/**
 * Of every pane, one row per key of a task's rows: how many there were, the time of the last, and
 * what is asked of their values.
 *
 * <p>Rows are (ticks, key), then whether it is a heartbeat and the group where there are such, then
 * the values as doubles. Out come rows of (shard, task, part, portion), each shard's own keys or
 * groups in its portion. topwater/spark/partials.py reads the portions. After a change, run
 * scripts/build_jar.py.
 */
public final class Partials implements MapPartitionsFunction<Row, Row> {
    private static final long serialVersionUID = 1L;

    static final long MARK = 0x7374726170706f74L; // topparts, backwards
    static final int MOST_ROWS = 1 << 20;
    static final int MOST_CELLS = 1 << 23;
    static final int MOST_BYTES = 1 << 26;
    static final int MOST_PLACES = 1 << 18;

    final long start;
    final long pane;
    final boolean micros;
    final long farthest;
    final boolean text;
    final int beatAt;
    final int groupAt;
    final int firstValue;
    final int values;
    final char[] functions;
    final int[] sources;
    final int shards;
    final int buckets;

    /**
     * All times are the query's own, in milliseconds, but farthest, which is in ticks.
     *
     * @param micros whether ticks are microseconds, not milliseconds
     * @param totals what is asked of the values: for each a letter, of sum, min, max or last (+, -,
     *     ^, =), and the number of the value, with spaces between them
     */
    public Partials(
            long start,
            long pane,
            boolean micros,
            long farthest,
            boolean text,
            boolean beats,
            boolean groups,
            int values,
            String totals,
            int shards,
            int buckets) {
        this.start = start;
        this.pane = pane;
        this.micros = micros;
        this.farthest = farthest;
        this.text = text;
        this.beatAt = beats ? 2 : -1;
        this.groupAt = groups ? (beats ? 3 : 2) : -1;
        this.firstValue = 2 + (beats ? 1 : 0) + (groups ? 1 : 0);
        this.values = values;
        String[] each = totals.isEmpty() ? new String[0] : totals.split(" ");
        this.functions = new char[each.length];
        this.sources = new int[each.length];
        for (int i = 0; i < each.length; i++) {
            functions[i] = each[i].charAt(0);
            sources[i] = Integer.parseInt(each[i].substring(1));
        }
        this.shards = shards;
        this.buckets = buckets;
    }

    @Override
    public Iterator<Row> call(Iterator<Row> rows) {
        return new Portions(this, rows);
    }

    /** Portions, each of as many rows as fit into memory: nearly always one for each shard. */
    static final class Portions implements Iterator<Row> {
        private final Partials plan;
        private final Iterator<Row> rows;
        private final ArrayDeque<Row> ready = new ArrayDeque<>();
        private int part = 0;

        Portions(Partials plan, Iterator<Row> rows) {
            this.plan = plan;
            this.rows = rows;
        }

        @Override
        public boolean hasNext() {
            if (ready.isEmpty() && rows.hasNext()) {
                Kept kept = new Kept(plan);
                while (rows.hasNext() && !kept.full()) {
                    kept.add(rows.next());
                }
                Integer task = Integer.valueOf(TaskContext.getPartitionId());
                byte[][] packed = new PartialBytes(plan, kept).portions();
                for (int shard = 0; shard < packed.length; shard++) {
                    Object[] row = {
                        Integer.valueOf(shard), task, Integer.valueOf(part), packed[shard]
                    };
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

    /** What there is of the rows so far. */
    static final class Kept {
        final PartialTable table;
        /** Without a name: all rows where there are no groups, else those without one. */
        final Group nameless;
        final ArrayList<Group> groups = new ArrayList<>();
        final ArrayList<Place> places = new ArrayList<>();

        private final Partials plan;
        private final HashMap<Object, Group> named = new HashMap<>();
        private final double[] values;
        private long names = 0;
        private int taken = 0;

        Kept(Partials plan) {
            this.plan = plan;
            this.table = new PartialTable(plan);
            this.values = new double[plan.values];
            this.nameless = new Group(this, null);
        }

        boolean full() {
            return table.rows >= MOST_ROWS
                    || table.rows * (long) table.width >= MOST_CELLS
                    || table.filled + names >= MOST_BYTES
                    || places.size() >= MOST_PLACES
                    || taken == Integer.MAX_VALUE;
        }

        /** The same rules as topwater/monitor/columns.py has. */
        void add(Row row) {
            taken++;
            boolean event = !(plan.beatAt >= 0
                    && !row.isNullAt(plan.beatAt)
                    && row.getBoolean(plan.beatAt));
            boolean keyed = event && !row.isNullAt(1);
            Group group = nameless;
            if (plan.groupAt >= 0) {
                if (event && !row.isNullAt(plan.groupAt)) {
                    group = group(row.get(plan.groupAt));
                } else {
                    keyed = false;
                }
            }
            if (event) {
                group.events++;
            }
            long ticks = row.isNullAt(0) ? Long.MAX_VALUE : row.getLong(0);
            if (ticks <= -plan.farthest || ticks >= plan.farthest) {
                if (keyed) {
                    group.badTime++;
                } else if (event) {
                    group.badKey++;
                }
                return;
            }
            long time = plan.micros ? Math.floorDiv(ticks, 1000L) : ticks;
            if (!keyed) {
                if (event) {
                    group.badKey++;
                }
                if (time > plan.start) {
                    group.at(time).see(time);
                }
            } else if (time <= plan.start) {
                group.beforeStart++;
            } else if (!read(row)) {
                group.badScore++;
            } else {
                Place place = group.at(time);
                place.see(time);
                place.events++;
                int cell = plan.text
                        ? table.cell(place.id, (byte[]) row.get(1), time)
                        : table.cell(place.id, row.getLong(1), time);
                table.add(cell, time, values);
            }
        }

        /** The values of a row; whether all of them are numbers. */
        private boolean read(Row row) {
            for (int i = 0; i < values.length; i++) {
                int at = plan.firstValue + i;
                double value = row.isNullAt(at) ? Double.NaN : row.getDouble(at);
                if (Double.isNaN(value) || Double.isInfinite(value)) {
                    return false;
                }
                values[i] = value;
            }
            return true;
        }

        private Group group(Object name) {
            Object key = name instanceof byte[] ? ByteBuffer.wrap((byte[]) name) : name;
            Group group = named.get(key);
            if (group == null) {
                group = new Group(this, name);
                named.put(key, group);
                groups.add(group);
                names += name instanceof byte[] ? ((byte[]) name).length : 8;
            }
            return group;
        }
    }

    /** The counts of a group's rows, and its panes. */
    static final class Group {
        final Object name;
        long events = 0;
        long beforeStart = 0;
        long badKey = 0;
        long badTime = 0;
        long badScore = 0;

        private final Kept kept;
        final HashMap<Long, Place> panes = new HashMap<>();
        private Place current = null;

        Group(Kept kept, Object name) {
            this.kept = kept;
            this.name = name;
        }

        /** Most rows are of the same pane as the one before. */
        Place at(long time) {
            Place place = current;
            if (place == null || time < place.opens || time > place.closes) {
                Long number = Long.valueOf((time - kept.plan.start - 1) / kept.plan.pane);
                place = panes.get(number);
                if (place == null) {
                    place = new Place(kept.places.size(), number.longValue(), kept.plan);
                    panes.put(number, place);
                    kept.places.add(place);
                }
                current = place;
            }
            return place;
        }

        /** Ascending. */
        Place[] places() {
            Long[] numbers = panes.keySet().toArray(new Long[0]);
            Arrays.sort(numbers);
            Place[] ordered = new Place[numbers.length];
            for (int i = 0; i < numbers.length; i++) {
                ordered[i] = panes.get(numbers[i]);
            }
            return ordered;
        }
    }

    /** A pane of a group. */
    static final class Place {
        final int id;
        final long number;
        final long opens;
        final long closes;
        long events = 0;
        long newest = Long.MIN_VALUE;

        Place(int id, long number, Partials plan) {
            this.id = id;
            this.number = number;
            this.opens = plan.start + 1 + number * plan.pane;
            this.closes = opens + plan.pane - 1;
        }

        void see(long time) {
            if (time > newest) {
                newest = time;
            }
        }
    }
}
