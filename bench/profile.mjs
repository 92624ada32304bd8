/**
 * `node bench/profile.mjs`: measures the parts of a training step, beside PyTorch's. See README.md.
 */
import { exitOnError } from './harness/exit-on-error.mjs';
import { defaultName, describeMachine } from './harness/machine.mjs';
import { jobOf } from './harness/measure.mjs';
import { parseProfileOptions, profileUsage } from './harness/options.mjs';
import { formatProfile } from './harness/profile-report.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { profilers } from './harness/sides.mjs';
import { parameterCountOf } from './harness/workloads.mjs';
import { ensurePeer } from './peers/setup.mjs';

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const options = parseProfileOptions(args);
  if (options.help) return console.log(profileUsage);
  const machine = describeMachine();
  const python = ensurePeer(options.python);

  const profiles = [];
  for (const model of options.models) {
    const job = jobOf(model, { ...options, device: 'cpu', blocks: 1 });
    const sides = {};
    for (const [side, run] of Object.entries(profilers)) {
      sides[side] = await run({ ...job, parameterCount: parameterCountOf(model, side) }, { python });
    }
    profiles.push({ model, steps: job.steps, ...sides });
    console.error(`${model}: profiled`);
  }

  const { ours, theirs } = profiles[0];
  const versions = { ...ours.versions, ...theirs.versions };
  const name = `${options.name ?? defaultName(machine, 'cpu')}-profile`;
  const head = formatHead({
    name,
    machine,
    versions,
    options: { device: 'cpu', precision: options.precision },
  });
  const command = ['npm run bench:profile --', ...args].join(' ');
  const text = formatProfile(profiles, { threads: options.threads, command });
  console.log(writeResult(`${name}.md`, `${head}\n\n${text}`));
});
