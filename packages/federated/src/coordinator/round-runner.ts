import { updateOf, Collection, type CollectedUpdate } from './collection.js';
import { aggregatorOf, applyUpdates } from '../aggregate/aggregators.js';
import { CLOSE, Refused, type RefusalCode } from '../errors.js';
import { bytesOf } from '../protocol/compression.js';
import { entriesOf, type Frame } from '../protocol/frame.js';
import type { WeightLayout } from '../protocol/layout.js';
import type { ClientMessage } from '../protocol/messages.js';
import { acceptUpdate } from './accept.js';
import { Changes } from './changes.js';
import type { Member, Traffic } from './member.js';
import type { ResolvedCoordinatorOptions } from './options.js';
import { meanMetrics, type RoundRecord } from './round-record.js';
import { sampleClients } from './sampling.js';
import { Tickets } from './tickets.js';

export interface RunnerParts {
  readonly options: ResolvedCoordinatorOptions;
  readonly layout: WeightLayout;
  readonly traffic: Traffic;
  readonly weights: Float32Array;
  /** The first round. */
  readonly round: number;
  /** Called after each round, with its weights. The next round waits for it. */
  readonly afterRound: (record: RoundRecord, weights: Float32Array) => Promise<void>;
}

/** How many rounds' tickets are remembered, so that late and replayed updates are told apart. */
const REMEMBERED_ROUNDS = 10;

/** Runs rounds: chooses clients, collects their updates, and combines them. */
export class RoundRunner {
  readonly #parts: RunnerParts;
  readonly #members = new Map<string, Member>();
  readonly #changes = new Changes();
  readonly #tickets: Tickets;
  #weights: Float32Array;
  #round: number;
  #collection: Collection | undefined;
  #refused = new Map<RefusalCode, number>();
  #isStopped = false;
  #isOverdue = false;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#weights = parts.weights;
    this.#round = parts.round;
    this.#tickets = new Tickets(REMEMBERED_ROUNDS * parts.options.maxClients);
  }

  get round(): number {
    return this.#round;
  }

  get members(): Member[] {
    return [...this.#members.values()];
  }

  /** A client is connected. One with the same name loses its place. */
  add(member: Member): void {
    this.#members.get(member.name)?.cutOff(CLOSE.replaced);
    this.#members.set(member.name, member);
    const { compression, heartbeatMs } = this.#parts.options;
    const weights = this.#parts.layout.weights.map(({ name, shape }) => ({ name, shape: [...shape] }));
    member.send({ type: 'welcome', weights, heartbeatMs, compression });
    this.#changes.notify();
  }

  remove(member: Member): void {
    if (this.#members.get(member.name) !== member) return;
    this.#members.delete(member.name);
    this.#tickets.expire(member.name);
    this.#collection?.lose(member.name);
    this.#changes.notify();
  }

  /** @throws Refused */
  handle(member: Member, message: ClientMessage, frame: Frame): void {
    if (this.#members.get(member.name) !== member) return;
    // Once: what a client does not read must not pile up.
    if ((message.type === 'hello') !== (member.state === 'arriving')) {
      throw new Refused('ACC_FEDERATED_PROTOCOL', `'${message.type}' came out of turn`);
    }
    if (message.type === 'hello') {
      member.state = 'entering';
      this.#sendWeights(member, { type: 'weights' });
    }
    if (message.type === 'ready') this.#becomesReady(member);
    if (message.type === 'update') {
      member.state = 'ready';
      this.#tickets.redeem(message.ticket, member.name, this.#round);
      this.#take(member, message, frame);
    }
    this.#changes.notify();
  }

  /** Looks again at what can be done. */
  wake(): void {
    this.#changes.notify();
  }

  refuse(member: Member, refused: Refused): void {
    if (this.#members.get(member.name) !== member) return;
    this.#refused.set(refused.code, (this.#refused.get(refused.code) ?? 0) + 1);
    // It may have been the update, and a client sends one only, so its part in the round ends.
    if (refused.code === 'ACC_FEDERATED_PROTOCOL' && member.state === 'busy') this.#becomesReady(member);
    member.refuse(refused, this.#round);
    this.#changes.notify();
  }

  /** Ends `run` after the round that is being combined, or at once if none is. */
  stop(): void {
    this.#isStopped = true;
    this.#changes.notify();
  }

  /** Resolves when these clients are connected, after `withinMs`, or after {@link stop}. */
  async waitFor(names: readonly string[], withinMs: number): Promise<void> {
    let isOverdue = false;
    const timer = setTimeout(() => {
      isOverdue = true;
      this.#changes.notify();
    }, withinMs);
    const isMissing = (name: string) => !this.#members.has(name);
    while (!isOverdue && !this.#isStopped && names.some(isMissing)) await this.#changes.next();
    clearTimeout(timer);
  }

  /** @returns Whether all rounds are done. */
  async run(): Promise<boolean> {
    const { rounds } = this.#parts.options;
    while (this.#round < rounds && !this.#isStopped) {
      const collected = await this.#collect();
      if (!collected) return false;
      const { collection, extensions } = collected;
      await this.#conclude(collection, extensions);
    }
    return this.#round >= rounds;
  }

  /** Sends the final weights. */
  sendFinal(member: Member): void {
    this.#sendWeights(member, { type: 'done', rounds: this.#parts.options.rounds });
  }

  #becomesReady(member: Member): void {
    member.state = 'ready';
    // The client gave up its round: nothing of it will come.
    this.#tickets.expire(member.name);
    this.#collection?.dismiss(member.name);
  }

  #take(member: Member, message: ClientMessage & { type: 'update' }, frame: Frame): void {
    const { maxSamples, clipUpdateNorm, compression } = this.#parts.options;
    const rules = { layout: this.#parts.layout, compression, maxSamples, clipUpdateNorm };
    try {
      const update = acceptUpdate(member.name, { message, frame }, this.#weights, rules);
      this.#collection!.take(update);
      member.accepted(this.#round);
    } catch (error) {
      this.#collection!.dismiss(member.name);
      throw error;
    }
  }

  #sendWeights(member: Member, message: Parameters<Member['send']>[0]): void {
    member.send(message, entriesOf(this.#parts.layout, 'F32'), bytesOf(this.#weights));
  }

  /** The clients that can be asked now. A client that has not read the last message cannot. */
  #available(): string[] {
    const isAvailable = ({ state, isDrained }: Member) => state === 'ready' && isDrained;
    return this.members.filter(isAvailable).map(({ name }) => name);
  }

  async #collect(): Promise<{ collection: Collection; extensions: number } | undefined> {
    const { minClients, waitForClients = minClients, enoughClients } = this.#parts.options;
    await this.#clientsPresent(waitForClients);
    if (this.#isStopped) return undefined;
    const collection = new Collection({ minClients, enoughClients });
    this.#collection = collection;
    this.#ask(collection, this.#chosenFirst());
    const extensions = await this.#complete(collection);
    this.#collection = undefined;
    this.#tickets.expire();
    for (const name of collection.waitingFor)
      this.#members.get(name)?.send({ type: 'over', round: this.#round });
    return this.#isStopped ? undefined : { collection, extensions };
  }

  #chosenFirst(): string[] {
    const { clientsPerRound, fraction, minClients, seed } = this.#parts.options;
    const available = this.#available();
    const share =
      fraction === undefined ? Infinity : Math.max(Math.floor(fraction * available.length), minClients, 1);
    return sampleClients(available, clientsPerRound ?? share, { seed, round: this.#round });
  }

  /** @returns How often the round was extended. */
  async #complete(collection: Collection): Promise<number> {
    const { deadlineMs } = this.#parts.options;
    let extensions = 0;
    let timer = this.#startDeadline(deadlineMs);
    while (!collection.isComplete && !this.#isStopped) {
      if (this.#isOverdue) {
        if (collection.missing === 0) break;
        extensions++;
        collection.extend();
        this.#tellExtension(collection);
        timer = this.#startDeadline(deadlineMs);
        this.#askOthers(collection);
      } else if (collection.waitingFor.length === 0) this.#askOthers(collection);
      if (!collection.isComplete) await this.#changes.next();
    }
    clearTimeout(timer);
    return extensions;
  }

  #startDeadline(deadlineMs: number): NodeJS.Timeout {
    this.#isOverdue = false;
    return setTimeout(() => {
      this.#isOverdue = true;
      this.#changes.notify();
    }, deadlineMs);
  }

  /** Asks as many further clients as updates are missing. */
  #askOthers(collection: Collection): void {
    const others = this.#available().filter((name) => collection.mayAsk(name));
    const { seed } = this.#parts.options;
    this.#ask(collection, sampleClients(others, collection.missing, { seed, round: this.#round }));
  }

  #ask(collection: Collection, names: readonly string[]): void {
    const { rounds, proximalMu } = this.#parts.options;
    for (const name of names) {
      const member = this.#members.get(name)!;
      const ticket = this.#tickets.issue(name, this.#round);
      collection.ask(name);
      member.state = 'busy';
      this.#sendWeights(member, { type: 'round', ticket, round: this.#round, rounds, proximalMu });
    }
  }

  #tellExtension({ missing, waitingFor }: Collection): void {
    const { minClients, deadlineMs } = this.#parts.options;
    const waits =
      waitingFor.length === 0
        ? 'No client that could be asked is left.'
        : `It waits for ${waitingFor.join(', ')}.`;
    console.warn(
      `acc: round ${this.#round} has ${minClients - missing} of the ${minClients} updates that it needs (minClients) after its deadline. It is extended by ${deadlineMs} ms. ${waits}`,
    );
  }

  async #conclude(collection: Collection, extensions: number): Promise<void> {
    const { aggregate, trimRatio } = this.#parts.options;
    const { updates } = collection;
    this.#weights = applyUpdates(this.#weights, updates.map(updateOf), aggregatorOf(aggregate, trimRatio));
    const record = this.#recordOf(collection, updates, extensions);
    this.#round++;
    await this.#parts.afterRound(record, this.#weights);
  }

  #recordOf(
    { asked, lost }: Collection,
    updates: readonly CollectedUpdate[],
    extensions: number,
  ): RoundRecord {
    const { traffic } = this.#parts;
    const refused = Object.fromEntries(this.#refused);
    const [receivedBytes, sentBytes] = [traffic.received, traffic.sent];
    Object.assign(traffic, { received: 0, sent: 0 });
    this.#refused = new Map();
    const taken = updates.map(({ update: _, ...rest }) => rest);
    const metrics = meanMetrics(taken);
    return {
      round: this.#round,
      asked,
      updates: taken,
      refused,
      lost,
      extensions,
      metrics,
      receivedBytes,
      sentBytes,
    };
  }

  /** Waits for clients, and says so in the interval of deadlines. */
  async #clientsPresent(count: number): Promise<void> {
    const { deadlineMs } = this.#parts.options;
    const timer = setInterval(() => {
      console.warn(
        `acc: round ${this.#round} waits for ${count} clients (waitForClients, minClients) that are ready. ${this.#available().length} are.`,
      );
    }, deadlineMs);
    while (this.#available().length < count && !this.#isStopped) await this.#changes.next();
    clearInterval(timer);
  }
}
