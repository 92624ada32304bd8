import { SAVED_EXIT_CODE } from '@acc/contract';
import type { Result, ToAgent } from './messages.js';

/** A host that takes part. */
export interface Member {
  readonly host: string;
  readonly nproc: number;
  /** Whether it is the host of the rendezvous, which is in every round and has node rank 0. */
  readonly isFirst: boolean;
  send(message: ToAgent): void;
}

export interface RendezvousOptions {
  readonly minNodes: number;
  readonly maxNodes: number;
  readonly maxRestarts: number;
  /** How long a round waits for further hosts once there are enough, in milliseconds. */
  readonly lastCallMs: number;
  /** How long too few hosts wait for others, in milliseconds. */
  readonly joinMs: number;
  /** Finds a free port on this host. */
  choosePort(): Promise<number>;
  /** Tells the user. */
  say(text: string): void;
  /** Called once, when the job has ended for every host. */
  onEnd(): void;
}

type Outcome = Result['outcome'] | 'running' | 'lost';

/**
 * Forms rounds of hosts. In a round, every host runs its ranks. A round ends when a rank fails, or a
 * host is lost, leaves or joins. Then all ranks end, and the hosts that are there form the next
 * round.
 *
 * - A round begins when all `maxNodes` hosts are there, or enough of them and the last call is
 *   over. The last call is skipped if the hosts are those of the round before, or more.
 * - Failed ranks and lost hosts count against `maxRestarts`. Hosts that join or leave do not.
 * - Hosts beyond `maxNodes` wait. They take the places of hosts that are lost.
 */
export class Rendezvous {
  readonly #options: RendezvousOptions;
  /** In the order in which they joined. */
  readonly #members: Member[] = [];
  /** The members of the round, in the order of node ranks, and how each ended. */
  #round = new Map<Member, Outcome>();
  #phase: 'gathering' | 'starting' | 'running' | 'stopping' | 'ended' = 'gathering';
  #restart = -1;
  #failures = 0;
  /** The exit code and reason with which the job ends once the ranks of the round have ended. */
  #verdict: { readonly exitCode: number; readonly reason: string } | undefined;
  /** Whether hosts that are missing are waited for. */
  #isLastCall = true;
  #timer: NodeJS.Timeout | undefined;
  #isTimerForTooFew = false;

  constructor(options: RendezvousOptions) {
    this.#options = options;
  }

  join(member: Member): void {
    if (this.#phase === 'ended')
      return member.send({ kind: 'end', exitCode: 1, reason: 'the job has ended' });
    this.#members.push(member);
    const { maxNodes, say } = this.#options;
    const isRunning = this.#phase === 'running';
    if (isRunning && this.#round.size >= maxNodes) {
      say(`${member.host} waits for a place: the job has its ${maxNodes} hosts`);
    } else {
      say(`${member.host} joins`);
    }
    if (isRunning && this.#round.size < maxNodes) {
      this.#isLastCall = false;
      this.#stop(true);
    }
    this.#advance();
  }

  /** Called when the connection to a member is closed, for whatever reason. */
  leave(member: Member, reason: string): void {
    const index = this.#members.indexOf(member);
    if (index >= 0) this.#members.splice(index, 1);
    if (this.#phase === 'ended') return this.#finish();
    if (this.#round.has(member)) this.#isLastCall = true;
    if (this.#round.get(member) === 'running') {
      this.#round.set(member, 'lost');
      if (this.#phase === 'running') this.#fail(1, `${member.host} is lost: ${reason}`);
    }
    this.#advance();
  }

  /** Called when the ranks of a member have ended. */
  result(member: Member, { restart, outcome, exitCode }: Result): void {
    if (restart !== this.#restart || this.#round.get(member) !== 'running') return;
    this.#round.set(member, outcome);
    if (outcome === 'left') this.#left(member, exitCode);
    else if (outcome === 'failed' && this.#phase === 'running') {
      // All hosts are still there.
      this.#isLastCall = false;
      // The ranks were asked to end, and saved: no failure.
      if (exitCode === SAVED_EXIT_CODE) this.#stop(true);
      else this.#fail(exitCode, `a rank failed on ${member.host}`);
    }
    this.#advance();
  }

  #left(member: Member, exitCode: number): void {
    this.#members.splice(this.#members.indexOf(member), 1);
    this.#isLastCall = true;
    this.#options.say(`${member.host} leaves`);
    if (member.isFirst)
      this.#verdict = { exitCode, reason: `${member.host}, the host of the rendezvous, was asked to end` };
    if (this.#phase === 'running') this.#stop(true);
  }

  #fail(exitCode: number, reason: string): void {
    const { maxRestarts, say } = this.#options;
    if (this.#failures === maxRestarts) {
      this.#verdict ??= { exitCode, reason: `${reason}, and the job was restarted ${maxRestarts} times` };
    } else {
      this.#failures++;
      say(`${reason}; restart ${this.#failures} of ${maxRestarts}`);
    }
    this.#stop(false);
  }

  #stop(isSaving: boolean): void {
    this.#phase = 'stopping';
    for (const [member, outcome] of this.#round) {
      if (outcome === 'running') member.send({ kind: 'stop', isSaving });
    }
  }

  /** Goes on if nothing is left to wait for. */
  #advance(): void {
    const outcomes = [...this.#round.values()];
    if (this.#phase === 'running' || this.#phase === 'stopping') {
      if (outcomes.includes('running')) return;
      if (outcomes.every((outcome) => outcome === 'completed')) this.#verdict = { exitCode: 0, reason: '' };
      if (this.#verdict) return this.#end();
      this.#phase = 'gathering';
    }
    if (this.#phase === 'gathering') this.#gather();
  }

  #gather(): void {
    const { minNodes, maxNodes, lastCallMs, joinMs } = this.#options;
    const count = this.#members.length;
    const isFirstThere = this.#members.some(({ isFirst }) => isFirst);
    if (isFirstThere && (count >= maxNodes || (count >= minNodes && !this.#isLastCall)))
      return void this.#start();
    const isTooFew = count < minNodes || !isFirstThere;
    if (this.#timer && this.#isTimerForTooFew === isTooFew) return;
    clearTimeout(this.#timer);
    this.#isTimerForTooFew = isTooFew;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (!isTooFew) return void this.#start();
        this.#verdict = {
          exitCode: 1,
          reason: `only ${this.#members.length} of at least ${minNodes} hosts came in ${joinMs / 1000} s`,
        };
        this.#end();
      },
      isTooFew ? joinMs : lastCallMs,
    );
    this.#options.say(`${count} of ${minNodes} to ${maxNodes} hosts are there, waiting for more`);
  }

  async #start(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#phase = 'starting';
    const port = await this.#options.choosePort();
    const { minNodes, maxNodes, maxRestarts, say } = this.#options;
    const first = this.#members.find(({ isFirst }) => isFirst);
    // Members may have gone meanwhile.
    if (!first || this.#members.length < minNodes) {
      this.#phase = 'gathering';
      return this.#advance();
    }
    const others = this.#members.filter((member) => member !== first);
    const chosen = [first, ...others].slice(0, maxNodes);
    this.#restart++;
    this.#isLastCall = true;
    this.#phase = 'running';
    this.#round = new Map(chosen.map((member) => [member, 'running']));
    const sizes = chosen.map(({ nproc }) => nproc);
    const [restart, failures] = [this.#restart, this.#failures];
    say(`round ${restart + 1}: ${chosen.map(({ host }) => host).join(', ')}`);
    chosen.forEach((member, nodeRank) =>
      member.send({ kind: 'round', restart, failures, maxRestarts, nodeRank, sizes, port }),
    );
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#phase = 'ended';
    const { exitCode, reason } = this.#verdict!;
    for (const member of [...this.#members]) member.send({ kind: 'end', exitCode, reason });
    this.#finish();
  }

  #finish(): void {
    if (this.#members.length === 0) this.#options.onEnd();
  }
}
