/* nearest.c: the distance of words, counted in typing errors. */
#include <string.h>
#include "nearest.h"

enum { LONGEST = 31, MOST_ERRORS = 2, LETTERS_PER_ERROR = 3 };

static int least(int a, int b) {
    return a < b ? a : b;
}

/* Letters missing, added, wrong, or in the wrong order of two neighbours (Damerau's errors, no
 * letter in two of them). Words are at most LONGEST letters long. */
static int distance(const char *a, const char *b) {
    const int m = (int)strlen(a), n = (int)strlen(b);
    int d[LONGEST + 1][LONGEST + 1]; /* of the first i letters of a and the first j of b */
    for (int i = 0; i <= m; i++)
        for (int j = 0; j <= n; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
                            1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[m][n];
}

const char *cli_nearest(const char *word, const char *const *words) {
    const size_t length = strlen(word);
    if (length > LONGEST)
        return NULL;
    int most = least(MOST_ERRORS, (int)(length + LETTERS_PER_ERROR - 1) / LETTERS_PER_ERROR);
    const char *nearest = NULL;
    for (; *words != NULL; words++) {
        if (strlen(*words) > LONGEST)
            continue;
        const int errors = distance(word, *words);
        if (errors <= most && errors < (int)length) {
            nearest = *words;
            most = errors - 1; /* the first of several */
        }
    }
    return nearest;
}
