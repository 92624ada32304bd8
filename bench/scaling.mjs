/**
 * `npm run bench:scaling`: compares strong and weak scaling with PyTorch + Accelerate in one run.
 * See README.md.
 */
import { runInterruptibly } from './harness/interruption.mjs';
import { describeMachine } from './harness/machine.mjs';
import { parseScalingOptions, scalingUsage } from './harness/options.mjs';
import { writeResult } from './harness/report.mjs';
import { requireBuild } from './harness/sides.mjs';
import { measureConnection, openNetwork } from './network/network.mjs';
import { ensurePeer } from './peers/setup.mjs';
import { measureCase } from './scaling/measure.mjs';
import { casesOf } from './scaling/plan.mjs';
import { chartName, drawModel, formatScaling } from './scaling/report.mjs';

const SIDES = ['ours', 'theirs'];

await runInterruptibly(async (signal) => {
  const args = process.argv.slice(2);
  const machine = describeMachine();
  const parsed = parseScalingOptions(args, machine.cores);
  if (parsed.help) return console.log(scalingUsage);
  requireBuild();
  const { networks, probes, leftOut } = await tryNetworks(parsed, signal);
  const options = { ...parsed, networks, python: ensurePeer(parsed.python), signal };

  const models = [];
  let versions;
  for (const model of options.models) {
    const runs = casesOf(model, options).map((one) => ({ one, rates: { ours: [], theirs: [] } }));
    for (let repeat = 0; repeat < options.repeats; repeat++) {
      const found = await measureAll(model, runs, repeat, options);
      versions = { ...versions, ...found };
    }
    models.push({ model, runs });
    writeResult(chartName(options.name, model), drawModel(model, runs, networks));
  }

  const command = ['npm run bench:scaling --', ...args].join(' ').replace(/ --$/, '');
  const { name, repeats, blocks, steps } = options;
  const record = {
    name,
    machine,
    versions,
    options: { repeats, blocks, steps },
    command,
    models,
    probes,
    leftOut,
  };
  const page = formatScaling(record);
  writeResult(`${name}.json`, `${JSON.stringify(record, null, 1)}\n`);
  console.log(`${page}\n${writeResult(`${name}.md`, page)}`);
});

/** Runs every case once on both sides, and adds their rates to `runs`. Returns the versions. */
async function measureAll(model, runs, repeat, options) {
  const versions = {};
  for (const { one, rates } of runs) {
    const link = one.network?.rateMbit && (await openNetwork(one.network, one.ranks));
    try {
      for (const side of repeat % 2 ? SIDES.toReversed() : SIDES) {
        const found = await measureCase({ model, side, one, link }, options);
        rates[side].push(found.rates);
        Object.assign(versions, found.versions);
      }
    } finally {
      await link?.dispose();
    }
    const rate = SIDES.map((side) => `${side} ${Math.round(rates[side].at(-1).weak)} samples/s`).join(', ');
    const where = one.network?.title ?? 'no communication';
    console.error(`${model}, ${one.ranks === 1 ? '1 rank' : `${one.ranks} ranks, ${where}`}: ${rate}`);
  }
  return versions;
}

/**
 * Creates each network once, to find out before the measurement what the machine cannot do.
 *
 * @throws Error if a network that was requested by name cannot be created.
 */
async function tryNetworks({ networks, isNetworkAskedFor, ranks }, signal) {
  const [usable, probes, leftOut] = [[], [], []];
  for (const shape of networks) {
    if (shape.rateMbit) {
      try {
        probes.push({ ...shape, ...(await probe(shape, Math.max(...ranks, 2), signal)) });
      } catch (error) {
        if (isNetworkAskedFor || signal.aborted) throw error;
        leftOut.push({ title: shape.title, reason: error.message });
        console.error(`Left out: ${shape.title}. ${error.message}`);
        continue;
      }
    }
    usable.push(shape);
  }
  return { networks: usable, probes, leftOut };
}

async function probe(shape, hosts, signal) {
  const network = await openNetwork(shape, hosts);
  try {
    return await measureConnection(network, shape, signal);
  } finally {
    await network.dispose();
  }
}
