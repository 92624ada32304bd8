import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { AccError, checkKeys } from '@acc/contract';
import { endWithThisProcess } from '../end-with-parent.js';
import { command } from './command.js';
import { Switch } from './switch.js';

/** The properties of a host's cable. They apply to all traffic from and to the host. */
export interface CableOptions {
  /**
   * The delay in each direction. Two cables connect two hosts: with 0.5 on each, one way takes 1
   * ms, and a round trip 2 ms.
   */
  readonly delayMs?: number;
  readonly lossPercent?: number;
  readonly mbitPerSecond?: number;
}

export interface TestNetworkOptions {
  /** The number of hosts. */
  readonly hosts: number;
  /** Default: cables without delay, loss or limit. */
  readonly cable?: CableOptions;
}

/** A host of a {@link TestNetwork}. */
export interface TestHost {
  /** `host0`, …: the host name that its programs see. */
  readonly name: string;
  /** The name of its network namespace. */
  readonly namespace: string;
  /** The address of `eth0`, its only interface besides the loopback. */
  readonly address: string;
  readonly address6: string;
}

let made = 0;
/**
 * The prefix of the network namespaces created here. The id of the process that created them
 * follows.
 */
const PREFIX = 'acc';

/**
 * Simulates several hosts on this one. Each host is a network namespace with a cable to one switch.
 * The switch is a program, so cables can have delay, loss and limits without support of the kernel.
 * Hosts share files, processes and clocks, and have no access to the real network. Needs Linux,
 * root, iproute2 and a C compiler.
 *
 * ```ts
 * await using network = await TestNetwork.create({ hosts: 2, cable: { delayMs: 1 } });
 * network.spawn(network.hosts[0]!, 'node', ['train.js']);
 * ```
 */
export class TestNetwork {
  readonly hosts: readonly TestHost[];
  #switch: Switch | undefined;

  /** @throws AccError `ACC_TEST_NETWORK` if the system does not permit it. */
  static async create(options: TestNetworkOptions): Promise<TestNetwork> {
    checkKeys('TestNetwork.create', options, ['hosts', 'cable']);
    removeForgotten();
    const network = new TestNetwork(options.hosts);
    // A test runner that aborts the test exits here.
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
        { help: 'Give the number of hosts: TestNetwork.create(3).' },
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

  /** Replaces the properties of the host's cable. Missing properties mean no delay, loss or limit. */
  async changeCable(host: TestHost, cable: CableOptions): Promise<void> {
    checkKeys('changeCable', cable, ['delayMs', 'lossPercent', 'mbitPerSecond']);
    const { delayMs = 0, lossPercent = 0, mbitPerSecond = 0 } = cable;
    const numbers = [delayMs * 1000, lossPercent * 10_000, mbitPerSecond].map(Math.round);
    await this.#tell(host, numbers.join(' '));
  }

  /** Disconnects the host's cable at the switch. The host itself does not notice. */
  async cut(host: TestHost): Promise<void> {
    await this.#tell(host, 'cut');
  }

  /** Reconnects the cable. */
  async mend(host: TestHost): Promise<void> {
    await this.#tell(host, 'mend');
  }

  /** Makes the host's programs resolve names with these lines of /etc/hosts. */
  setHostsFile(host: TestHost, text: string): void {
    mkdirSync(`/etc/netns/${host.namespace}`, { recursive: true });
    writeFileSync(`/etc/netns/${host.namespace}/hosts`, text);
  }

  /**
   * Starts a program on a host, in its own process group. `dispose` or the end of this process ends
   * it.
   */
  spawn(host: TestHost, program: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
    const named = ['unshare', '--uts', 'sh', '-c', `hostname ${host.name}; exec "$@"`, 'sh'];
    const all = ['netns', 'exec', host.namespace, ...named, program, ...args];
    const child = spawn('ip', all, { detached: true, ...options });
    child.once('exit', endWithThisProcess([child]));
    return child;
  }

  /** Kills all programs on the hosts and removes the hosts. */
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
      // `nodad` skips the duplicate address detection, which takes seconds.
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

/** Removes namespaces of processes that were killed. */
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
    // No network namespace has been created yet.
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
