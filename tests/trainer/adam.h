/* tests/trainer/adam.h — of struct sw_trainer: what the tests' Adams have in common. */
#ifndef SW_TESTS_WORKER_ADAM_H
#define SW_TESTS_WORKER_ADAM_H

#define ADAM_OF(kind, rate)                                                                        \
	.optimizer = (kind), .lr = (rate), .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8
#define ADAMW ADAM_OF(SW_ADAMW, 0.003), .weight_decay = 0.01

#endif
