/* Answers rows with an exported header: reads rows of doubles from standard input, and writes the
   label and the probabilities of each, or its number.

   gcc -DHEADER='"model.h"' [-DNUMBER] c_reader.c */
#include <stdio.h>

#include HEADER

int main(void) {
  double row[COPPICE_SAMPLE_FEATURES];
#ifdef NUMBER
  double answer[1];
#else
  double answer[1 + COPPICE_SAMPLE_OUTPUTS];
#endif
  while (fread(row, sizeof(row), 1, stdin) == 1) {
#ifdef NUMBER
    answer[0] = coppice_sample_predict(row);
#else
    answer[0] = coppice_sample_predict(row, answer + 1);
#endif
    if (fwrite(answer, sizeof(answer), 1, stdout) != 1) return 1;
  }
  return 0;
}
