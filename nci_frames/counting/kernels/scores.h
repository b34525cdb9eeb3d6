/* The loops over scores of type REAL, whose bits are an integer of type BITS. Scores are never NaN.

   Each score is first mapped to a cell, which is monotone in the score, by a shift of its bits. A table has the
   number of thresholds below each cell; only in a cell with thresholds these are compared with the score. */

/* A monotone function from numbers to cells. */
typedef struct {
    BITS least;  /* bits of the smallest magnitude of a threshold: smaller numbers share a cell */
    BITS first;  /* rank of the lowest finite threshold, after the shift */
    BITS last;   /* number of the last cell */
    int64_t shift;
} OF_TYPE(Cells);

/* The rank of a number among those of its type; 0 for all that are smaller than the least magnitude. */
static inline BITS OF_TYPE(rank)(REAL value, BITS least)
{
    BITS bits, most = (BITS)(((uint64_t)1 << (8 * sizeof(BITS) - 1)) - 1);
    memcpy(&bits, &value, sizeof bits);
    BITS rank = (bits & most) - least;
    rank = rank < 0 ? 0 : rank;
    return bits < 0 ? -rank : rank;
}

static inline BITS OF_TYPE(cell)(REAL value, const OF_TYPE(Cells) *cells)
{
    BITS cell = (OF_TYPE(rank)(value, cells->least) >> cells->shift) - cells->first;
    cell = cell < 0 ? 0 : cell;
    return cell > cells->last ? cells->last : cell;
}

/* Choose the cells for ascending thresholds, and count the thresholds below each of them; the complement of the
   number marks a cell with several thresholds. */
void OF_TYPE(make_cells)(int64_t thresholds, const REAL *threshold, int64_t size, OF_TYPE(Cells) *cells, int32_t *below)
{
    REAL least = INFINITY, low = INFINITY, high = -INFINITY;
    for (int64_t k = 0; k < thresholds; k++) {
        REAL value = threshold[k], magnitude = value < 0 ? -value : value;
        if (magnitude == INFINITY)
            continue;
        if (magnitude > 0 && magnitude < least)
            least = magnitude;
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    low = low > high ? high = 0 : low;
    BITS bits;
    memcpy(&bits, &least, sizeof bits);
    cells->last = (BITS)(size - 1);
    /* At least 1, so that the difference of two ranks cannot overflow. */
    for (cells->shift = 1;; cells->shift++) {
        /* So that the least magnitude has another cell than 0, which is often a threshold. */
        const BITS apart = (BITS)1 << cells->shift;
        cells->least = bits > apart ? bits - apart : 0;
        cells->first = OF_TYPE(rank)(low, cells->least) >> cells->shift;
        if ((OF_TYPE(rank)(high, cells->least) >> cells->shift) - cells->first < size)
            break;
    }
    memset(below, 0, (size_t)size * sizeof *below);
    for (int64_t k = 0; k < thresholds; k++)
        below[OF_TYPE(cell)(threshold[k], cells)]++;
    int32_t before = 0;
    for (int64_t k = 0; k < size; k++) {
        int32_t mine = below[k];
        below[k] = mine > 1 ? ~before : before;
        before += mine;
    }
}

/* Return the number of thresholds <= score, for a score whose cell has several thresholds. */
static int32_t OF_TYPE(search)(REAL score, int32_t thresholds, const REAL *threshold, const OF_TYPE(Cells) *cells,
                               const int32_t *below)
{
    const BITS cell = OF_TYPE(cell)(score, cells);
    const int32_t next = cell < cells->last ? below[cell + 1] : thresholds;
    int32_t found = ~below[cell], left = (next < 0 ? ~next : next) - found;
    /* Without branches, which could not be predicted. */
    for (; left > 1; left -= left / 2)
        found += (left / 2) & -(int32_t)(score >= threshold[found + left / 2 - 1]);
    return found + (score >= threshold[found]);
}

/* Make of group numbers the codes of cells (group, class, bin); a bin is the number of thresholds <= score. The
   thresholds end with a NaN. Without labels there is one class. */
CLONED void OF_TYPE(code_rows)(int64_t n, int64_t *codes, const uint8_t *labels, const REAL *scores, int64_t thresholds,
                               const REAL *threshold, const OF_TYPE(Cells) *cells, const int32_t *below)
{
    enum { rows = 512 };
    const OF_TYPE(Cells) mine = *cells;
    const int64_t bins = thresholds + 1;
    int32_t bin[rows];
    for (int64_t start = 0; start < n; start += rows) {
        const int here = n - start < rows ? (int)(n - start) : rows;
        const REAL *score = scores + start;
        int64_t *code = codes + start;
        int32_t several = 0;
        /* Short loops, of which compilers make vectors. */
        for (int row = 0; row < here; row++) {
            bin[row] = below[OF_TYPE(cell)(score[row], &mine)];
            several |= bin[row];
        }
        if (several < 0)
            for (int row = 0; row < here; row++)
                if (bin[row] < 0)
                    bin[row] = OF_TYPE(search)(score[row], (int32_t)thresholds, threshold, &mine, below);
        /* If a cell has no threshold, the next one is above the score. */
        for (int row = 0; row < here; row++)
            bin[row] += score[row] >= threshold[bin[row]];
        if (labels != NULL)
            for (int row = 0; row < here; row++)
                code[row] = code[row] * 2 + labels[start + row];
        for (int row = 0; row < here; row++)
            code[row] = code[row] * bins + bin[row];
    }
}

/* Find the place of the highest of several scores of each row; the first one among ties. Return whether a score may
   be NaN: whether a sum of scores is, as that of a positive and a negative infinity is, too. */
CLONED int32_t OF_TYPE(find_highest)(int64_t n, int64_t columns, const REAL *const *scores, int64_t *places)
{
    enum { rows = 512 };
    REAL best[rows], sum[rows];
    BITS place[rows];
    int32_t missing = 0;
    for (int64_t start = 0; start < n; start += rows) {
        const int here = n - start < rows ? (int)(n - start) : rows;
        memcpy(best, scores[0] + start, (size_t)here * sizeof *best);
        memcpy(sum, best, sizeof sum);
        memset(place, 0, sizeof place);
        for (int64_t column = 1; column < columns; column++) {
            const REAL *score = scores[column] + start;
            /* Two loops, since compilers make vectors of each of them, but not of one loop. */
            for (int row = 0; row < here; row++)
                place[row] = score[row] > best[row] ? (BITS)column : place[row];
            for (int row = 0; row < here; row++) {
                best[row] = score[row] > best[row] ? score[row] : best[row];
                sum[row] += score[row];
            }
        }
        for (int row = 0; row < here; row++) {
            places[start + row] = place[row];
            missing |= sum[row] != sum[row];
        }
    }
    return missing;
}

/* Number the cell of each row: its stratum, the number of borders <= score, before the first bits of its hash. Without
   hashes, that of the score is used: its bits as a double, times an odd number that spreads them. */
CLONED void OF_TYPE(cells_of_strata)(int64_t n, const REAL *scores, int64_t borders, const REAL *border,
                                     const uint64_t *hashes, int64_t bits, int64_t *cells)
{
    enum { rows = 512 };
    BITS stratum[rows];
    uint64_t hash[rows];
    for (int64_t start = 0; start < n; start += rows) {
        const int here = n - start < rows ? (int)(n - start) : rows;
        const REAL *score = scores + start;
        memset(stratum, 0, sizeof stratum);
        for (int64_t k = 0; k < borders; k++)
            for (int row = 0; row < here; row++)
                stratum[row] += score[row] >= border[k];
        for (int row = 0; row < here; row++) {
            const double value = (double)score[row] + 0.0; /* -0.0 is 0.0 */
            memcpy(hash + row, &value, sizeof value);
            hash[row] *= 0x9E3779B97F4A7C15;
        }
        if (hashes != NULL)
            memcpy(hash, hashes + start, (size_t)here * sizeof *hash);
        for (int row = 0; row < here; row++)
            cells[start + row] = (int64_t)stratum[row] << bits | (int64_t)(hash[row] >> (64 - bits));
    }
}

/* Make of group numbers those of runs: the rows of a group with a negative score, and its other rows. */
CLONED void OF_TYPE(number_runs)(int64_t n, int64_t *numbers, const REAL *scores)
{
    for (int64_t row = 0; row < n; row++)
        numbers[row] = 2 * numbers[row] + !(scores[row] < 0);
}

/* Put each row into the next place of its run: the bits of the magnitude of its score, followed by its class as the
   lowest bit. Weights may be null. */
void OF_TYPE(place_rows)(int64_t n, const int64_t *runs, const REAL *scores, const uint8_t *labels,
                         const double *weights, int64_t *next, BITS *placed, double *placed_weights)
{
    for (int64_t row = 0; row < n; row++) {
        const int64_t place = next[runs[row]]++;
        BITS bits;
        memcpy(&bits, scores + row, sizeof bits);
        placed[place] = (BITS)((uint64_t)bits << 1 | labels[row]);
        if (weights != NULL)
            placed_weights[place] = weights[row];
    }
}

/* Find the number of distinct scores and of positives of such rows, sorted by score. The first of them, as many as
   below, have negative scores. */
CLONED void OF_TYPE(survey_sorted)(int64_t n, const BITS *rows, int64_t below, int64_t *sizes)
{
    int64_t distinct = n > 0, positives = n > 0 ? rows[0] & 1 : 0;
    for (int64_t row = 1; row < n; row++) {
        distinct += ((rows[row] ^ rows[row - 1]) & ~(BITS)1) != 0;
        positives += rows[row] & 1;
    }
    /* The lowest positive score may have the magnitude of the highest negative one. */
    if (below > 0 && below < n)
        distinct += ((rows[below] ^ rows[below - 1]) & ~(BITS)1) == 0;
    sizes[0] = distinct;
    sizes[1] = positives;
}

/* Count such rows of both classes from each distinct score up, and below it. */
void OF_TYPE(count_sorted)(int64_t n, const BITS *rows, int64_t below, int64_t distinct, int64_t positives,
                           double *threshold, int64_t *tp, int64_t *fp, int64_t *fn, int64_t *tn)
{
    const BITS most = (BITS)(((uint64_t)1 << (8 * sizeof(BITS) - 1)) - 1);
    int64_t place = distinct, found = 0;
    BITS before = 0;
    double *const written[] = {threshold, (double *)tp, (double *)fp, (double *)fn, (double *)tn};
    int64_t ready = distinct; /* the first place whose page is there */
    /* From the highest score down, so that the last of several rows with one score to be written has all of them. */
    for (int64_t row = n - 1; row >= 0; row--) {
        const BITS bits = ((rows[row] >> 1) & most) | (row < below ? ~most : 0);
        REAL score;
        memcpy(&score, &bits, sizeof score);
        place -= row == n - 1 || bits != before;
        if (place < ready) {
            const int64_t more = ready < POPULATED ? ready : POPULATED;
            ready -= more;
            for (int array = 0; array < 5; array++)
                get_pages(written[array] + ready, more);
        }
        before = bits;
        found += rows[row] & 1;
        threshold[place] = score;
        tp[place] = found;
        fp[place] = n - row - found;
        fn[place] = positives - found;
        tn[place] = row - (positives - found);
    }
}

#undef REAL
#undef BITS
#undef OF_TYPE
