import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { TestNetwork } from '@acc/testkit';
import { venv } from '../e2e/trackers/python/venv.js';
import { startProgram } from './run-on-hosts.js';

const meet = fileURLToPath(new URL('./ranks/meet.ts', import.meta.url));
const acc = fileURLToPath(new URL('../../packages/cli/bin/acc.js', import.meta.url));
/** The oldest and the newest version of Kubernetes whose schema is compared. */
const VERSIONS = ['1.31', '1.37'];

/** The manifest of a job with two ranks in each pod. */
function manifest(nnodes: number): string {
  const args = ['--image', 'registry/meet:1', '-n', '2', '--nnodes', String(nnodes), '--no-prefix', meet];
  return execFileSync(process.execPath, [acc, 'launch', '--print', 'k8s', ...args], { encoding: 'utf8' });
}

let folder: string;
let validate: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'acc-kubernetes-'));
  validate = (await venv('kubernetes')).bin('kubernetes-validate');
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function validated(text: string, version: string): { status: number | null; output: string } {
  const path = join(folder, 'job.yaml');
  writeFileSync(path, text);
  const { status, stdout, stderr } = spawnSync(validate, ['--strict', '-k', version, path], {
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

it("manifests pass Kubernetes' own schema, which refuses an unknown field", () => {
  for (const version of VERSIONS) {
    for (const nnodes of [1, 2]) {
      const { status, output } = validated(manifest(nnodes), version);
      expect(status, output).toBe(0);
      expect(output.match(/PASS|passed/gi), output).toHaveLength(nnodes === 1 ? 2 : 3);
    }
    const wrong = manifest(2).replace('completionMode:', 'completionsMode:');
    expect(validated(wrong, version).status).not.toBe(0);
  }
});

// Kubernetes itself needs more than a test can install. The network has its names, and each host
// runs the command of a pod with the variables that a pod would have.
it('the commands of two pods are one job', async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  const [secret, service, job] = parseAllDocuments(manifest(2)).map((one) => one.toJS() as Manifest);
  const name = service!.metadata.name;
  const [first] = network.hosts;
  for (const host of network.hosts) {
    network.setHostsFile(host, `127.0.0.1 localhost\n${first!.address} ${name}-0.${name}\n`);
  }
  const [container] = job!.spec.template.spec.containers;
  const [token] = container!.env;
  expect(token).toMatchObject({
    name: 'ACC_JOB_TOKEN',
    valueFrom: { secretKeyRef: { name: secret!.metadata.name, key: 'token' } },
  });
  const running = network.hosts.map((host, index) => {
    const env = { ACC_JOB_TOKEN: secret!.stringData.token, JOB_COMPLETION_INDEX: String(index) };
    const [program, ...args] = container!.command as [string, ...string[]];
    return startProgram(network, host, [program, ...args], env);
  });
  const outputs = (await Promise.all(running.map(({ ended }) => ended))).map(({ output }) => output);
  const all = outputs.join('\n');
  for (let rank = 0; rank < 4; rank++) expect(all).toContain(`met ${rank}/4 local ${rank % 2}/2 sum 10`);
});

/** The fields of the documents that the test reads. */
interface Manifest {
  readonly metadata: { readonly name: string };
  readonly stringData: { readonly token: string };
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly command: readonly string[];
          readonly env: readonly object[];
        }[];
      };
    };
  };
}
