#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	double alpha = 0.5, x = 0;
	int iters = 10;

	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "--alpha=", 8) == 0)
			alpha = atof(argv[i] + 8);
		else if (strncmp(argv[i], "--iters=", 8) == 0)
			iters = atoi(argv[i] + 8);
	}
	for (int i = 1; i <= iters; i++) {
		x -= alpha * 2 * (x - 3);
		printf("iteration %d residual: %.6f\n", i, (x - 3) * (x - 3));
	}
	return 0;
}
