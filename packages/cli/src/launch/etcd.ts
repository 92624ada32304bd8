import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { AccError, poll } from '@acc/contract';
import { freePort } from '@acc/platform/ports';
import type { Etcd3, Lease, Namespace } from 'etcd3';
import { addressTowards } from './endpoint.js';
import type { EtcdRendezvous, LaunchPlan } from './options.js';
import { newToken, shareOf, type Placement } from './share-of-host.js';

const LONGEST_PAUSE_MS = 200;
const NOTICE_MS = 10_000;
const TIMEOUT_MS = 300_000;
const RELEASE_MS = 2_000;

/** A host's entry for the others. */
interface Node {
  /** Distinguishes the host from an earlier one with the same rank that was killed. */
  readonly id: string;
  readonly host: string;
  readonly nproc: number;
}

/** The settings that node 0 chooses after all other nodes have answered it. */
interface Decision {
  /** By node rank. */
  readonly nodes: readonly Node[];
  readonly host: string;
  readonly port: number;
  /** Absent if the user set a token. */
  readonly token?: string;
}

/**
 * Lets the hosts of a job find each other through etcd. Each host takes the first free node rank,
 * or the one it was given. Node 0 chooses the address of rank 0 and the token. Hosts may run
 * different numbers of processes.
 *
 * @param ownToken The token that the user set.
 * @throws AccError `ACC_ETCD_MISSING`, `ACC_ETCD_UNREACHABLE`, `ACC_NODE_RANK_TAKEN`,
 * `ACC_RENDEZVOUS_FAILED`.
 */
export async function meetThroughEtcd(
  plan: LaunchPlan,
  rendezvous: EtcdRendezvous,
  ownToken: string | undefined,
): Promise<Placement> {
  const client = await connectEtcd(rendezvous);
  const lease = client.lease(plan.hostTimeoutMs / 1_000);
  // After the hosts have met they no longer need etcd, so a lost lease does not affect the job.
  lease.on('lost', () => {});
  const release = async (): Promise<void> => {
    // If etcd is gone, the lease expires by itself.
    const revoked = lease.revoke().catch(() => {});
    await Promise.race([revoked, sleep(RELEASE_MS, undefined, { ref: false })]);
    client.close();
  };
  try {
    const meeting = new Meeting(client.namespace(`/acc/${rendezvous.id}/`), lease, plan);
    const nodeRank = await meeting.takePlace();
    if (nodeRank === 0) {
      const nodes = await meeting.nodesThatAnswer();
      const host = await addressTowards(rendezvous, plan.networkInterface);
      const token = ownToken === undefined ? { token: newToken() } : {};
      await meeting.decide({ nodes, host, port: await freePort(host), ...token });
    }
    const decision = await meeting.decision(nodeRank);
    const sizes = decision.nodes.map(({ nproc }) => nproc);
    return {
      ...shareOf(sizes, nodeRank),
      endpoint: { host: decision.host, port: decision.port },
      jobToken: ownToken ?? decision.token,
      release,
    };
  } catch (error) {
    await release();
    throw error;
  }
}

async function connectEtcd({ host, port }: EtcdRendezvous): Promise<Etcd3> {
  let etcd: typeof import('etcd3');
  try {
    etcd = await import('etcd3');
  } catch (cause) {
    throw new AccError('ACC_ETCD_MISSING', 'The package etcd3, which acc needs for etcd, is not installed.', {
      cause,
      help: 'npm install etcd3',
    });
  }
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const client = new etcd.Etcd3({ hosts: url });
  try {
    await client.getAll().prefix('/acc/').count();
    return client;
  } catch (cause) {
    client.close();
    throw new AccError('ACC_ETCD_UNREACHABLE', `No etcd answers at ${url}: ${(cause as Error).message}.`, {
      cause,
      help: 'Give the address of an etcd that every host reaches: --rdzv-endpoint HOST:2379.',
    });
  }
}

/** The keys of one job. A key disappears with the lease of the host that wrote it. */
class Meeting {
  readonly #deadline = Date.now() + TIMEOUT_MS;
  readonly #noticeAt = Date.now() + NOTICE_MS;
  readonly #own: Node;
  #isNoticed = false;

  constructor(
    private readonly keys: Namespace,
    private readonly lease: Lease,
    private readonly plan: LaunchPlan,
  ) {
    this.#own = { id: randomUUID(), host: hostname(), nproc: plan.nproc };
  }

  /**
   * Takes the node rank that was asked for, or the first free one. Node ranks of an earlier job
   * with the same id become free when it ends, or some seconds after it was killed.
   */
  async takePlace(): Promise<number> {
    const { nodeRank, nnodes, hostTimeoutMs } = this.plan;
    const wanted = nodeRank === undefined ? Array.from({ length: nnodes }, (_, rank) => rank) : [nodeRank];
    const take = async (): Promise<number | undefined> => {
      for (const rank of wanted) if (await this.#create(`node/${rank}`, this.#own)) return rank;
      return undefined;
    };
    const patience = { timeoutMs: 2 * hostTimeoutMs, longestPauseMs: LONGEST_PAUSE_MS };
    const taken = await poll(take, patience);
    if (taken !== undefined) return taken;
    const holders = (await this.#nodes()).map((held, rank) => `${rank}: ${held?.host ?? 'nobody'}`);
    throw new AccError(
      'ACC_NODE_RANK_TAKEN',
      `No node rank is free for this host (${this.#own.host}). The ${nnodes} nodes of the job are: ${holders.join(', ')}.`,
      { help: 'Start each host once, and give every job its own --rdzv-id.' },
    );
  }

  /**
   * Called on node 0. Resolves with all nodes once every other node has answered this node 0. Nodes
   * of a killed job do not answer.
   */
  async nodesThatAnswer(): Promise<Node[]> {
    return this.#poll(async () => {
      const nodes = await this.#nodes();
      const answers = await this.keys.getAll().prefix('answer/').strings();
      const isAnswered = (rank: number) => rank === 0 || answers[`answer/${rank}`] === this.#own.id;
      const present = nodes.filter((node, rank) => node !== undefined && isAnswered(rank)) as Node[];
      return present.length === nodes.length ? present : undefined;
    });
  }

  async decide(decision: Decision): Promise<void> {
    await this.#put('decision', JSON.stringify(decision));
  }

  /**
   * Resolves with the decision that contains this node. Meanwhile it answers node 0, and again if
   * another process replaces node 0.
   */
  async decision(nodeRank: number): Promise<Decision> {
    let answered: string | undefined;
    return this.#poll(async () => {
      const [first] = await this.#nodes();
      if (nodeRank > 0 && first && first.id !== answered) {
        await this.#put(`answer/${nodeRank}`, first.id);
        answered = first.id;
      }
      const text = await this.keys.get('decision').string();
      const decision = text === null ? undefined : (JSON.parse(text) as Decision);
      return decision?.nodes[nodeRank]?.id === this.#own.id ? decision : undefined;
    });
  }

  async #nodes(): Promise<(Node | undefined)[]> {
    const texts = await this.keys.getAll().prefix('node/').strings();
    return Array.from({ length: this.plan.nnodes }, (_, rank) => {
      const text = texts[`node/${rank}`];
      return text === undefined ? undefined : (JSON.parse(text) as Node);
    });
  }

  async #put(key: string, value: string): Promise<void> {
    const lease = await this.lease.grant();
    await this.keys.put(key).value(value).lease(lease);
  }

  async #create(key: string, value: object): Promise<boolean> {
    const put = this.keys
      .put(key)
      .value(JSON.stringify(value))
      .lease(await this.lease.grant());
    const { succeeded } = await this.keys.if(key, 'Create', '==', 0).then(put).commit();
    return succeeded;
  }

  async #poll<T>(find: () => Promise<T | undefined>): Promise<T> {
    const findAndTell = async (): Promise<T | undefined> => {
      const found = await find();
      if (found === undefined && !this.#isNoticed && Date.now() > this.#noticeAt) {
        this.#isNoticed = true;
        process.stderr.write(`acc: waiting. ${await this.#whoIsThere()}.\n`);
      }
      return found;
    };
    const timeoutMs = this.#deadline - Date.now();
    const found = await poll(findAndTell, { timeoutMs, longestPauseMs: LONGEST_PAUSE_MS });
    if (found !== undefined) return found;
    throw new AccError(
      'ACC_RENDEZVOUS_FAILED',
      `Hosts are missing after ${TIMEOUT_MS} ms. ${await this.#whoIsThere()}.`,
      { help: 'Start npx acc launch on every host, with the same --nnodes and --rdzv-id.' },
    );
  }

  async #whoIsThere(): Promise<string> {
    const places = (await this.#nodes()).map(
      (node, rank) => `node ${rank} ${node ? `is ${node.host}` : 'is missing'}`,
    );
    return `Of ${this.plan.nnodes} expected hosts, ${places.join(', ')}`;
  }
}
