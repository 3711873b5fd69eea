/* nearest.h: which known word a user may have meant. */
#ifndef GSW_CLI_NEAREST_H
#define GSW_CLI_NEAREST_H

/* The word of a list (its end is NULL) that differs least from `word`: one typing error in three
 * letters, at most two in all. NULL where none is that near. */
const char *cli_nearest(const char *word, const char *const *words);

#endif
