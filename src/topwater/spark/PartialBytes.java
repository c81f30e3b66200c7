package topwater;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.zip.CRC32;

/**
 * What is kept, as bytes for every shard.
 *
 * <p>Eight-byte numbers: the mark; how many groups, how many of them without a name, how many
 * places and rows; and flags: 1 if its events are counted here, 2 if keys are text, 4 if the
 * names of groups are. Then for each group its counts and how
 * many places it has; for each place its pane, events, newest time, and how many rows; and for
 * all rows, by place, total by total, then their keys if these are numbers, then the names of
 * groups if they are. Four-byte numbers: the rows' times since their pane opened (eight bytes
 * where a pane is long), their counts, and where the text of each key and of each group's name
 * ends. Then that text.
 */
final class PartialBytes {
    private final Partials plan;
    private final Partials.Kept kept;
    private final PartialTable table;

    PartialBytes(Partials plan, Partials.Kept kept) {
        this.plan = plan;
        this.kept = kept;
        this.table = kept.table;
    }

    byte[][] portions() {
        byte[][] packed = new byte[plan.shards][];
        int[] shards = plan.groupAt < 0 ? shardsOfRows() : shardsOfPlaces();
        for (int shard = 0; shard < plan.shards; shard++) {
            packed[shard] = portion(shard, shards);
        }
        return packed;
    }

    /** The shard of each row. */
    private int[] shardsOfRows() {
        int[] shards = new int[table.rows];
        if (plan.shards > 1) {
            CRC32 sum = new CRC32();
            for (int row = 0; row < shards.length; row++) {
                if (plan.text) {
                    sum.reset();
                    int begin = table.begin(row);
                    sum.update(table.bytes, begin, table.begin(row + 1) - begin);
                    shards[row] = shard(sum.getValue());
                } else {
                    shards[row] = shard(mixed(table.cells[row * table.width]));
                }
            }
        }
        return shards;
    }

    /** The same, where all rows of a group have its shard. */
    private int[] shardsOfPlaces() {
        int[] ofPlaces = new int[kept.places.size()];
        for (int i = 0; i < kept.groups.size(); i++) {
            Partials.Group group = kept.groups.get(i);
            Partials.Place[] places = group.places();
            for (int j = 0; j < places.length; j++) {
                ofPlaces[places[j].id] = shard(group);
            }
        }
        int[] shards = new int[table.rows];
        for (int row = 0; row < shards.length; row++) {
            shards[row] = ofPlaces[table.place(row)];
        }
        return shards;
    }

    private int shard(Partials.Group group) {
        if (group.name instanceof byte[]) {
            CRC32 sum = new CRC32();
            sum.update((byte[]) group.name);
            return shard(sum.getValue());
        }
        return shard(mixed(((Long) group.name).longValue()));
    }

    /** The same as topwater/monitor/shards.py has: a range of buckets is a shard. */
    private int shard(long hash) {
        return (int) (hash % plan.buckets * plan.shards / plan.buckets);
    }

    private static long mixed(long key) {
        return key * 0x9E3779B97F4A7C15L >>> 33;
    }

    private byte[] portion(int shard, int[] shards) {
        ArrayList<Partials.Group> groups = new ArrayList<>();
        ArrayList<Partials.Place> places = new ArrayList<>();
        int nameless = choose(shard, groups, places);
        int[] sizes = sizes(shard, shards);
        int[] rows = rows(shard, shards, sizes, places);
        ByteBuffer out = ByteBuffer.allocate(Math.toIntExact(bytes(groups, places, rows)));
        out.order(ByteOrder.LITTLE_ENDIAN);
        out.putLong(Partials.MARK).putLong(groups.size()).putLong(nameless);
        out.putLong(places.size()).putLong(rows.length);
        out.putLong(flags(shard, groups));
        for (int i = 0; i < groups.size(); i++) {
            put(groups.get(i), shard, out);
        }
        for (int i = 0; i < places.size(); i++) {
            Partials.Place place = places.get(i);
            out.putLong(place.number).putLong(place.events).putLong(place.newest);
            out.putLong(place.id < 0 ? 0 : sizes[place.id]);
        }
        putNumbers(rows, groups, nameless, out);
        putText(rows, groups, nameless, out);
        return out.array();
    }

    /** The groups of a shard, first the nameless ones, how many of which is returned. */
    private int choose(
            int shard, ArrayList<Partials.Group> groups, ArrayList<Partials.Place> places) {
        if (plan.groupAt < 0) {
            groups.add(kept.nameless);
            places.addAll(Arrays.asList(kept.nameless.places()));
            return 1;
        }
        Partials.Group clock = clock();
        groups.add(clock);
        places.addAll(Arrays.asList(clock.places()));
        if (shard == 0 && (kept.nameless.events > 0 || !kept.nameless.panes.isEmpty())) {
            groups.add(kept.nameless);
            places.addAll(Arrays.asList(kept.nameless.places()));
        }
        int nameless = groups.size();
        for (int i = 0; i < kept.groups.size(); i++) {
            Partials.Group group = kept.groups.get(i);
            if (shard(group) == shard) {
                groups.add(group);
                places.addAll(Arrays.asList(group.places()));
            }
        }
        return nameless;
    }

    /** A group without rows, for the panes of all: every shard must come to the same time. */
    private Partials.Group clock() {
        Partials.Group clock = new Partials.Group(kept, null);
        for (int i = 0; i < kept.places.size(); i++) {
            Partials.Place place = kept.places.get(i);
            Long number = Long.valueOf(place.number);
            Partials.Place whole = clock.panes.get(number);
            if (whole == null) {
                whole = new Partials.Place(-1, place.number, plan);
                clock.panes.put(number, whole);
            }
            whole.events += place.events;
            whole.see(place.newest);
        }
        return clock;
    }

    /** How many rows of the shard each place has. */
    private int[] sizes(int shard, int[] shards) {
        int[] sizes = new int[kept.places.size()];
        for (int row = 0; row < shards.length; row++) {
            if (shards[row] == shard) {
                sizes[table.place(row)]++;
            }
        }
        return sizes;
    }

    /** The rows of the shard, by their places. */
    private int[] rows(
            int shard, int[] shards, int[] sizes, ArrayList<Partials.Place> places) {
        int[] next = new int[sizes.length];
        int total = 0;
        for (int i = 0; i < places.size(); i++) {
            int id = places.get(i).id;
            if (id >= 0) {
                next[id] = total;
                total += sizes[id];
            }
        }
        int[] rows = new int[total];
        for (int row = 0; row < shards.length; row++) {
            if (shards[row] == shard) {
                rows[next[table.place(row)]++] = row;
            }
        }
        return rows;
    }

    private boolean wide() {
        return plan.pane > Integer.MAX_VALUE;
    }

    private long bytes(
            ArrayList<Partials.Group> groups, ArrayList<Partials.Place> places, int[] rows) {
        long size = 8L * (6 + 6L * groups.size() + 4L * places.size());
        size += (long) rows.length * (8 * plan.functions.length + 4 + (wide() ? 8 : 4));
        size += plan.text ? 4L : 8L * rows.length;
        if (plan.text) {
            for (int i = 0; i < rows.length; i++) {
                size += 4 + table.begin(rows[i] + 1) - table.begin(rows[i]);
            }
        }
        for (int i = 0; i < groups.size(); i++) {
            Object name = groups.get(i).name;
            size += name instanceof byte[] ? 4 + ((byte[]) name).length : name == null ? 0 : 8;
        }
        return size;
    }

    private long flags(int shard, ArrayList<Partials.Group> groups) {
        Object name = groups.get(groups.size() - 1).name;
        return (counted(shard) ? 1 : 0) | (plan.text ? 2 : 0) | (name instanceof byte[] ? 4 : 0);
    }

    /** Exactly one of the shards counts the rows; of a group, the one that has it. */
    private boolean counted(int shard) {
        return plan.groupAt >= 0 || shard == 0;
    }

    private void put(Partials.Group group, int shard, ByteBuffer out) {
        boolean counted = counted(shard);
        out.putLong(counted ? group.events : 0).putLong(counted ? group.beforeStart : 0);
        out.putLong(counted ? group.badKey : 0).putLong(counted ? group.badTime : 0);
        out.putLong(counted ? group.badScore : 0).putLong(group.panes.size());
    }

    private void putNumbers(
            int[] rows, ArrayList<Partials.Group> groups, int nameless, ByteBuffer out) {
        for (int total = 0; total < plan.functions.length; total++) {
            for (int i = 0; i < rows.length; i++) {
                out.putLong(table.cells[rows[i] * table.width + PartialTable.TOTALS + total]);
            }
        }
        for (int i = 0; i < rows.length && !plan.text; i++) {
            out.putLong(table.cells[rows[i] * table.width]);
        }
        for (int i = nameless; i < groups.size(); i++) {
            Object name = groups.get(i).name;
            if (name instanceof Long) {
                out.putLong(((Long) name).longValue());
            }
        }
        for (int i = 0; i < rows.length; i++) {
            long opens = kept.places.get(table.place(rows[i])).opens;
            long time = table.cells[rows[i] * table.width + 2] - opens;
            if (wide()) {
                out.putLong(time);
            } else {
                out.putInt((int) time);
            }
        }
        for (int i = 0; i < rows.length; i++) {
            out.putInt(table.count(rows[i]));
        }
    }

    private void putText(
            int[] rows, ArrayList<Partials.Group> groups, int nameless, ByteBuffer out) {
        if (plan.text) {
            int end = 0;
            out.putInt(end);
            for (int i = 0; i < rows.length; i++) {
                end += table.begin(rows[i] + 1) - table.begin(rows[i]);
                out.putInt(end);
            }
        }
        int end = 0;
        for (int i = nameless; i < groups.size(); i++) {
            Object name = groups.get(i).name;
            if (name instanceof byte[]) {
                end += ((byte[]) name).length;
                out.putInt(end);
            }
        }
        for (int i = 0; i < rows.length && plan.text; i++) {
            int begin = table.begin(rows[i]);
            out.put(table.bytes, begin, table.begin(rows[i] + 1) - begin);
        }
        for (int i = nameless; i < groups.size(); i++) {
            Object name = groups.get(i).name;
            if (name instanceof byte[]) {
                out.put((byte[]) name);
            }
        }
    }
}
