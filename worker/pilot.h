/*
 * worker/pilot.h — `sweep-worker pilot`: a worker that is a job of a cluster. It dials the daemon
 * back (tls/dial.h), trains as any worker does, and ends before its job's time is over.
 *
 * Input    Standard input, at most 8 KiB, to its end; a line a word and its value. Unknown words
 *          are passed over. Nothing of it stands in an argument or in the environment.
 *              dial HOST PORT        the daemon
 *              name IDENTITY         of the job: 1 to 63 of [A-Za-z0-9._-]
 *              key HEX               64 digits
 *              worker ID             slot N
 *              device cpu:0|gpu:0    cores N (1)          memory BYTES (0: no cap)
 *              time SECONDS          of the job, from now on (0: no limit)
 *              stagger SECONDS       earlier by so much, so that pilots do not all end at once
 *              probe PATH TOKEN      it sees the daemon's files if that file holds the token
 * Time     At time - min(60, time / 4) - min(stagger, time / 8) seconds it acts as on SIGTERM. The
 *          trial then has five sixths of what is left, at most 50 s, and on SIGTERM from outside
 *          25 s, since Slurm kills after 30: to end its epoch, save and report. It has these
 *          without a daemon, too, which may come back; a trial that was saved and not reported
 *          goes on from what was reported.
 * Away     It waits for a daemon as long as its job's time; a day where that has no limit.
 */
#ifndef SW_WORKER_PILOT_H
#define SW_WORKER_PILOT_H

/* wake: the pipe that SIGTERM writes to (worker/serve.h). Returns the exit status: 0 also where no
 * daemon came back; 2: the input is not as above; else that of sw_serve(). What is not 0 has its
 * line on stderr. Once a process. */
int sw_pilot(const int wake[2]);

#endif
