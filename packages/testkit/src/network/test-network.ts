import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { AccError, checkKeys } from '@acc/contract';
import { endWithThisProcess } from '../end-with-parent.js';
import { command } from './command.js';
import { Switch } from './switch.js';

/** What a host's cable does to everything that leaves the host and comes to it. */
export interface CableOptions {
  /** Each way. From host to host there are two cables: 0.5 on all of them is 1 ms one way, and 2 ms there and back. */
  readonly delayMs?: number;
  readonly lossPercent?: number;
  readonly mbitPerSecond?: number;
}

export interface TestNetworkOptions {
  /** How many hosts. */
  readonly hosts: number;
  /** Default: cables without delay, loss or limit. */
  readonly cable?: CableOptions;
}

/** A host of a {@link TestNetwork}. */
export interface TestHost {
  /** `host0`, …: what its programs get as their host's name. */
  readonly name: string;
  /** Its network namespace. */
  readonly namespace: string;
  /** Of its only interface beside the loopback, `eth0`. */
  readonly address: string;
  readonly address6: string;
}

let made = 0;
/** Network namespaces that we make begin so, and go on with the number of the process that made them. */
const PREFIX = 'acc';

/**
 * Several hosts on this one: network namespaces, each with a cable to one switch, which is a program, so that cables can have
 * delay, loss and limits without help of the kernel. Hosts share files, processes and clocks, and have nothing of the machine's
 * own network. Linux, as root, with iproute2 and a C compiler.
 *
 * ```ts
 * await using network = await TestNetwork.create({ hosts: 2, cable: { delayMs: 1 } });
 * network.spawn(network.hosts[0]!, 'node', ['train.js']);
 * ```
 */
export class TestNetwork {
  readonly hosts: readonly TestHost[];
  #switch: Switch | undefined;

  /** @throws AccError `ACC_TEST_NETWORK` where the system does not let us. */
  static async create(options: TestNetworkOptions): Promise<TestNetwork> {
    checkKeys('TestNetwork.create', options, ['hosts', 'cable']);
    removeForgotten();
    const network = new TestNetwork(options.hosts);
    // A test runner that gives up on the test leaves through here.
    process.once('exit', network.#removeHosts);
    try {
      await network.#build();
      if (options.cable) for (const host of network.hosts) await network.changeCable(host, options.cable);
    } catch (error) {
      await network.dispose();
      throw error;
    }
    return network;
  }

  private constructor(hosts: number) {
    if (!Number.isInteger(hosts) || hosts < 1 || hosts > 200) {
      throw new AccError(
        'ACC_BAD_OPTION',
        `TestNetwork: hosts must be a whole number from 1 to 200, not ${hosts}.`,
      );
    }
    const name = `${PREFIX}-${process.pid}-${made++}`;
    this.hosts = Array.from({ length: hosts }, (_, i) => ({
      name: `host${i}`,
      namespace: `${name}-${i}`,
      address: `10.77.0.${i + 1}`,
      address6: `fd77::${(i + 1).toString(16)}`,
    }));
  }

  /** Gives the host's cable other properties; those left out are none. */
  async changeCable(host: TestHost, cable: CableOptions): Promise<void> {
    checkKeys('changeCable', cable, ['delayMs', 'lossPercent', 'mbitPerSecond']);
    const { delayMs = 0, lossPercent = 0, mbitPerSecond = 0 } = cable;
    const numbers = [delayMs * 1000, lossPercent * 10_000, mbitPerSecond].map(Math.round);
    await this.#tell(host, numbers.join(' '));
  }

  /** Pulls the host's cable out at the switch: the host itself does not see it. */
  async cut(host: TestHost): Promise<void> {
    await this.#tell(host, 'cut');
  }

  /** Plugs it in again. */
  async mend(host: TestHost): Promise<void> {
    await this.#tell(host, 'mend');
  }

  /** Lets the host's programs resolve names as these lines of /etc/hosts say. */
  setHostsFile(host: TestHost, text: string): void {
    mkdirSync(`/etc/netns/${host.namespace}`, { recursive: true });
    writeFileSync(`/etc/netns/${host.namespace}/hosts`, text);
  }

  /** Starts a program on a host, in a process group of its own. `dispose` ends it, and so does the end of this process. */
  spawn(host: TestHost, program: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
    const named = ['unshare', '--uts', 'sh', '-c', `hostname ${host.name}; exec "$@"`, 'sh'];
    const all = ['netns', 'exec', host.namespace, ...named, program, ...args];
    const child = spawn('ip', all, { detached: true, ...options });
    child.once('exit', endWithThisProcess([child]));
    return child;
  }

  /** Kills what still runs on the hosts and removes them. */
  async dispose(): Promise<void> {
    process.off('exit', this.#removeHosts);
    this.#removeHosts();
    await this.#switch?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  readonly #removeHosts = (): void => {
    for (const { namespace } of this.hosts) remove(namespace);
  };

  async #build(): Promise<void> {
    this.#switch = await Switch.start(this.hosts.length);
    this.hosts.forEach(({ namespace, address, address6 }, i) => {
      const device = this.#switch!.devices[i]!;
      command('ip', ['netns', 'add', namespace]);
      command('ip', ['link', 'set', device, 'netns', namespace, 'name', 'eth0']);
      command('ip', ['-n', namespace, 'address', 'add', `${address}/24`, 'dev', 'eth0']);
      // Without the seconds that looking for another holder of the address takes.
      command('ip', ['-n', namespace, 'address', 'add', `${address6}/64`, 'dev', 'eth0', 'nodad']);
      command('ip', ['-n', namespace, 'link', 'set', 'lo', 'up']);
      command('ip', ['-n', namespace, 'link', 'set', 'eth0', 'up', 'txqueuelen', '10000']);
    });
  }

  async #tell(host: TestHost, what: string): Promise<void> {
    await this.#switch!.tell(this.hosts.indexOf(host), what);
  }
}

function remove(namespace: string): void {
  if (!namespaces().includes(namespace)) return;
  for (const pid of command('ip', ['netns', 'pids', namespace]).split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  command('ip', ['netns', 'delete', namespace]);
  rmSync(`/etc/netns/${namespace}`, { recursive: true, force: true });
}

/** Removes what processes that were killed have left. */
function removeForgotten(): void {
  for (const namespace of namespaces()) {
    const [, pid] = new RegExp(`^${PREFIX}-(\\d+)-\\d+-`).exec(namespace) ?? [];
    if (pid !== undefined && !isRunning(Number(pid))) remove(namespace);
  }
}

function namespaces(): string[] {
  try {
    return readdirSync('/run/netns');
  } catch {
    // Nobody has made one yet.
    return [];
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
