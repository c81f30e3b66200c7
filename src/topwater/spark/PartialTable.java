package topwater;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * One row per place and key, in the order in which they first came: open addressing over rows
 * of cells that lie side by side, so that a row costs one miss of the cache for its slot and
 * one for its cells.
 *
 * <p>Cells are: the key, or the hash of its text and where that begins; the place and the
 * count; the newest time; and one for each total, a double by its bits.
 */
final class PartialTable {
    static final int TOTALS = 3;

    final int width;
    int rows = 0;
    int filled = 0;
    long[] cells;
    byte[] bytes = new byte[64];

    private final boolean text;
    private final char[] functions;
    private final int[] sources;
    private int[] slots = new int[64];

    PartialTable(Partials plan) {
        this.text = plan.text;
        this.functions = plan.functions;
        this.sources = plan.sources;
        this.width = TOTALS + functions.length;
        this.cells = new long[16 * width];
    }

    int place(int row) {
        return (int) (cells[row * width + 1] >>> 32);
    }

    int count(int row) {
        return (int) cells[row * width + 1];
    }

    int begin(int row) {
        return row == rows ? filled : (int) cells[row * width];
    }

    /** Where the cells of a key begin, which are made if there are none. */
    int cell(int place, long key, long time) {
        int mask = slots.length - 1;
        int slot = spread(key, place) & mask;
        while (slots[slot] != 0) {
            int cell = (slots[slot] - 1) * width;
            if (cells[cell] == key && (int) (cells[cell + 1] >>> 32) == place) {
                return cell;
            }
            slot = (slot + 1) & mask;
        }
        return made(slot, place, key, time);
    }

    int cell(int place, byte[] key, long time) {
        int hash = hash(key);
        int mask = slots.length - 1;
        int slot = spread(hash, place) & mask;
        while (slots[slot] != 0) {
            int row = slots[slot] - 1;
            int cell = row * width;
            if ((int) (cells[cell] >>> 32) == hash
                    && (int) (cells[cell + 1] >>> 32) == place
                    && Arrays.equals(bytes, begin(row), begin(row + 1), key, 0, key.length)) {
                return cell;
            }
            slot = (slot + 1) & mask;
        }
        int begin = filled;
        filled = Math.addExact(filled, key.length);
        if (filled > bytes.length) {
            bytes = Arrays.copyOf(bytes, (int) Math.min(2L * filled, Integer.MAX_VALUE - 8));
        }
        System.arraycopy(key, 0, bytes, begin, key.length);
        return made(slot, place, (long) hash << 32 | begin, time);
    }

    private int made(int slot, int place, long key, long time) {
        int cell = rows * width;
        if (cell == cells.length) {
            cells = Arrays.copyOf(cells, 2 * cells.length);
        }
        cells[cell] = key;
        cells[cell + 1] = (long) place << 32;
        cells[cell + 2] = time;
        for (int i = 0; i < functions.length; i++) {
            double none = functions[i] == '-'
                    ? Double.POSITIVE_INFINITY
                    : functions[i] == '+' ? 0.0 : Double.NEGATIVE_INFINITY;
            cells[cell + TOTALS + i] = Double.doubleToRawLongBits(none);
        }
        slots[slot] = ++rows;
        if (2 * rows > slots.length) {
            grow();
        }
        return cell;
    }

    private void grow() {
        slots = new int[4 * slots.length];
        int mask = slots.length - 1;
        for (int row = 0; row < rows; row++) {
            long key = cells[row * width];
            int slot = spread(text ? (int) (key >>> 32) : key, place(row)) & mask;
            while (slots[slot] != 0) {
                slot = (slot + 1) & mask;
            }
            slots[slot] = row + 1;
        }
    }

    /**
     * One more event. Sums are added up in the order in which the rows come, from 0 on, as
     * Arrow does; of several values at a key's last time, the greatest is its last.
     */
    void add(int cell, long time, double[] values) {
        cells[cell + 1]++;
        long newest = cells[cell + 2];
        for (int i = 0; i < functions.length; i++) {
            int at = cell + TOTALS + i;
            double value = values[sources[i]];
            double total = Double.longBitsToDouble(cells[at]);
            char function = functions[i];
            if (function == '+') {
                total += value;
            } else if (function == '-') {
                total = Math.min(total, value);
            } else if (function == '^') {
                total = Math.max(total, value);
            } else if (time > newest || time == newest && value >= total) {
                total = value;
            }
            cells[at] = Double.doubleToRawLongBits(total);
        }
        if (time > newest) {
            cells[cell + 2] = time;
        }
    }

    private static int hash(byte[] key) {
        ByteBuffer buffer = ByteBuffer.wrap(key);
        long hash = key.length;
        int at = 0;
        for (; at + 8 <= key.length; at += 8) {
            hash = (hash ^ buffer.getLong(at)) * 0x9E3779B97F4A7C15L;
            hash ^= hash >>> 32;
        }
        for (; at < key.length; at++) {
            hash = (hash ^ key[at]) * 0x9E3779B97F4A7C15L;
            hash ^= hash >>> 32;
        }
        return (int) hash;
    }

    /** The last step of Murmur3: every bit of the key has a say in every bit of the slot. */
    private static int spread(long key, int place) {
        long bits = key + place * 0x9E3779B97F4A7C15L;
        bits = (bits ^ (bits >>> 33)) * 0xFF51AFD7ED558CCDL;
        bits = (bits ^ (bits >>> 33)) * 0xC4CEB9FE1A85EC53L;
        return (int) (bits ^ (bits >>> 33));
    }
}
