# Turns the plain comments of a header into the ones that Doxygen reads.

# The first comment describes the file.
1s|^/\* \(gridsweep/[a-z]*\.h\): *\(.\)|/** \\file \1\n * \\brief \u\2|
1s|^/\* gridsweep: *\(.\)|/** \\file gridsweep/gridsweep.h\n * \\brief \u\1|

# A comment that starts its line describes what follows it; one behind a declaration, what precedes.
s|^\( *\)/\* |\1/** |
s|\([;,]\) */\* |\1 /**< |

# Columns of plain text become code blocks, which need four more spaces; numbered lists stay lists.
/^ *\*   [0-9]\. /!s|^\( *\*\)   \( *[^ ]\)|\1      \2|

# Errors get a paragraph of their own.
s|^ \* Errors| *\n&|
