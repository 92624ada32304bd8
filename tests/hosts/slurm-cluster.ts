import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { poll } from '@acc/contract';
import type { TestNetwork } from '@acc/testkit';
import type { Variables } from './run-on-hosts.js';

const START_MS = 60_000;

/** A real Slurm on the hosts of a test network, its controller on the first. */
export class SlurmCluster {
  readonly #folder = mkdtempSync(join(tmpdir(), 'acc-slurm-'));
  readonly #daemons: ChildProcess[] = [];

  static async start(network: TestNetwork): Promise<SlurmCluster> {
    const cluster = new SlurmCluster(network);
    try {
      await cluster.#start();
    } catch (error) {
      await cluster.dispose();
      throw error;
    }
    return cluster;
  }

  private constructor(private readonly network: TestNetwork) {}

  /** Runs a command of Slurm on the first host, and returns its output, also if it fails. */
  async run(program: string, args: readonly string[], env: Variables = {}): Promise<string> {
    const child = this.network.spawn(this.network.hosts[0]!, program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, SLURM_CONF: this.#configuration, OMP_NUM_THREADS: '1', ...env },
    });
    let output = '';
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (output += text));
    await once(child, 'close');
    return output;
  }

  async dispose(): Promise<void> {
    for (const daemon of this.#daemons) {
      if (daemon.exitCode !== null || daemon.signalCode !== null) continue;
      const ended = once(daemon, 'exit');
      daemon.kill('SIGKILL');
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  get #configuration(): string {
    return join(this.#folder, 'slurm.conf');
  }

  async #start(): Promise<void> {
    const { hosts } = this.network;
    const names = hosts.map(({ name, address }) => `${address} ${name}`).join('\n');
    for (const host of hosts) this.network.setHostsFile(host, `127.0.0.1 localhost\n${names}\n`);
    writeFileSync(this.#configuration, this.#configure());
    // The program that enters a namespace hides the control groups, from which slurmd would detect
    // their kind.
    writeFileSync(join(this.#folder, 'cgroup.conf'), 'CgroupPlugin=cgroup/v1\n');
    const socket = join(this.#folder, 'munge.socket');
    const key = join(this.#folder, 'munge.key');
    writeFileSync(key, randomBytes(128), { mode: 0o600 });
    const files = ['pid', 'log', 'seed'].map(
      (what) => `--${what}-file=${join(this.#folder, `munge.${what}`)}`,
    );
    this.#keep(
      spawn('munged', ['--foreground', '--force', `--socket=${socket}`, `--key-file=${key}`, ...files]),
    );
    await until(() => existsSync(socket), 'munged');
    const env = { ...process.env, SLURM_CONF: this.#configuration };
    mkdirSync(join(this.#folder, 'state'));
    this.#keep(this.network.spawn(hosts[0]!, 'slurmctld', ['-D', '-c'], { env, stdio: 'ignore' }));
    for (const host of hosts) {
      this.#keep(this.network.spawn(host, 'slurmd', ['-D', '-N', host.name], { env, stdio: 'ignore' }));
    }
    await until(
      async () => (await this.run('sinfo', ['-h', '-t', 'idle', '-o', '%D'])).trim() === String(hosts.length),
      () => ['ctld.log', ...hosts.map(({ name }) => `${name}.log`)].map((name) => this.#log(name)).join('\n'),
    );
  }

  #keep(daemon: ChildProcess): void {
    this.#daemons.push(daemon);
  }

  #log(name: string): string {
    const path = join(this.#folder, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : `no ${name}`;
  }

  #configure(): string {
    const { hosts } = this.network;
    const at = (name: string) => join(this.#folder, name);
    return [
      'ClusterName=acc',
      `SlurmctldHost=${hosts[0]!.name}(${hosts[0]!.address})`,
      'SlurmUser=root',
      'SlurmdUser=root',
      'AuthType=auth/munge',
      `AuthInfo=socket=${at('munge.socket')}`,
      `StateSaveLocation=${at('state')}`,
      `SlurmdSpoolDir=${at('spool-%n')}`,
      `SlurmctldPidFile=${at('ctld.pid')}`,
      `SlurmdPidFile=${at('%n.pid')}`,
      `SlurmctldLogFile=${at('ctld.log')}`,
      `SlurmdLogFile=${at('%n.log')}`,
      'ProctrackType=proctrack/pgid',
      'TaskPlugin=task/none',
      'SelectType=select/cons_tres',
      'SelectTypeParameters=CR_Core',
      'MpiDefault=none',
      'ReturnToService=2',
      ...hosts.map(({ name, address }) => `NodeName=${name} NodeAddr=${address} CPUs=2 RealMemory=1000`),
      'PartitionName=main Nodes=ALL Default=YES State=UP OverSubscribe=YES',
      '',
    ].join('\n');
  }
}

async function until(holds: () => boolean | Promise<boolean>, what: string | (() => string)): Promise<void> {
  const hasStarted = await poll(async () => (await holds()) || undefined, { timeoutMs: START_MS });
  if (!hasStarted) throw new Error(`did not start: ${typeof what === 'string' ? what : what()}`);
}
