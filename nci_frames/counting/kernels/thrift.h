/* Parquet's footers and page headers are structs in Thrift's compact protocol. thrift.py says what is found. */

/* Levels of structs and lists: the metadata of Parquet has fewer. */
enum { MOST_LEVELS = 16 };

typedef struct {
    const uint8_t *data;
    int64_t place, size; /* the next byte, and the number of bytes */
    int64_t wanted;
    const uint64_t *paths; /* of the wanted fields */
    int64_t number, room; /* fields found so far, and at most */
    int64_t *found;
    int64_t row; /* number of the struct */
    int32_t damaged;
} Structs;

static uint64_t read_varint(Structs *in)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && in->place < in->size; shift += 7) {
        const uint8_t byte = in->data[in->place++];
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    in->damaged = 1;
    return 0;
}

static int64_t read_integer(Structs *in)
{
    const uint64_t number = read_varint(in);
    return (int64_t)(number >> 1 ^ (0 - (number & 1))); /* the lowest bit is the sign */
}

static void skip_bytes(Structs *in, uint64_t bytes)
{
    in->damaged |= bytes > (uint64_t)(in->size - in->place);
    if (!in->damaged)
        in->place += (int64_t)bytes;
}

static void keep_field(Structs *in, uint64_t path, int64_t value)
{
    for (int64_t k = 0; k < in->wanted; k++) {
        if (in->paths[k] != path)
            continue;
        in->damaged |= in->number == in->room;
        if (in->damaged)
            return;
        int64_t *found = in->found + 4 * in->number++;
        found[0] = in->row;
        found[1] = k;
        found[2] = value;
        found[3] = in->place;
    }
}

static void read_fields(Structs *in, uint64_t path, int levels);

static void read_field(Structs *in, int kind, uint64_t path, int levels)
{
    if (kind == 3 || kind == 7) { /* a byte, and a double */
        skip_bytes(in, kind == 3 ? 1 : 8);
    } else if (kind >= 4 && kind <= 6) {
        keep_field(in, path, read_integer(in));
    } else if (kind == 8) { /* bytes */
        const uint64_t length = read_varint(in);
        skip_bytes(in, length);
        keep_field(in, path, (int64_t)length);
    } else if (kind == 12) {
        read_fields(in, path, levels);
    } else if ((kind == 9 || kind == 10) && levels > 0 && in->place < in->size) { /* a list */
        const uint8_t head = in->data[in->place++];
        const uint64_t elements = head >> 4 == 15 ? read_varint(in) : head >> 4;
        /* Each takes a byte at least. */
        in->damaged |= elements > (uint64_t)(in->size - in->place);
        for (uint64_t k = 0; k < elements && !in->damaged; k++)
            if ((head & 15) == 1 || (head & 15) == 2)
                skip_bytes(in, 1);
            else
                read_field(in, head & 15, path, levels - 1);
    } else if (kind != 1 && kind != 2) { /* booleans have no bytes of their own */
        in->damaged = 1;
    }
}

static void read_fields(Structs *in, uint64_t path, int levels)
{
    uint64_t field = 0;
    in->damaged |= levels == 0;
    while (!in->damaged && in->place < in->size) {
        const uint8_t head = in->data[in->place++];
        if (head == 0)
            return;
        field = head >> 4 ? field + (head >> 4) : (uint64_t)read_integer(in);
        /* Fields of other numbers are not wanted. */
        read_field(in, head & 15, path << 6 | (field - 1 < 62 ? field : 63), levels - 1);
    }
    in->damaged = 1;
}

/* Read n structs, each between two places; find the wanted fields, and the end of each struct, or -1. */
int64_t find_fields(int64_t n, const int64_t *places, const int64_t *limits, const uint8_t *data, int64_t wanted,
                    const uint64_t *paths, int64_t room, int64_t *found, int64_t *ends)
{
    Structs in = {.data = data, .wanted = wanted, .paths = paths, .room = room, .found = found};
    for (in.row = 0; in.row < n; in.row++) {
        in.place = places[in.row];
        in.size = limits[in.row];
        in.damaged = 0;
        read_fields(&in, 0, MOST_LEVELS);
        ends[in.row] = in.damaged ? -1 : in.place;
    }
    return in.number;
}
