import { oldNode } from '@acc/platform/node-version';
import pc from 'picocolors';
import type { AddonState, EnvironmentReport } from './inspect.js';

const LABEL_WIDTH = 10;
const OUTCOMES = { found: '✓', refused: '✗', absent: '–' } as const;

/** Formats the report for people, with the missing parts at the end. */
export function formatReport(report: EnvironmentReport): string {
  const { libtorch, addon, collective, tfjs, tfjsNode, engine, variables, missing } = report;
  const chosen = libtorch.chosen;
  const isOldNode = oldNode(process.versions) !== undefined;
  const lines = [
    row('acc', report.acc),
    row('platform', report.platform),
    row('node', `${report.node}${isOldNode ? ', too old' : ''}`),
    row('cores', String(report.cores)),
    row('memory', `${(report.memoryBytes / 2 ** 30).toFixed(1)} GiB`),
    row(
      'libtorch',
      chosen ? `${chosen.version} (${chosen.variant}), ${chosen.origin}, ${chosen.root}` : 'none',
    ),
    ...libtorch.candidates.map(({ origin, outcome, reason }) =>
      row('', `${OUTCOMES[outcome]} ${origin}: ${reason}`),
    ),
    row('addon', formatAddon(addon)),
    ...(collective ? formatCollective(collective) : []),
    ...block(
      'tfjs',
      tfjs.map(({ name, version, path }) => `${name} ${version}, ${path}`),
    ),
    ...tfjsNode.map((state) => row(state.name.replace('@tensorflow/', ''), formatTfjsNode(state))),
    row('engine', `auto takes ${engine.auto}: ${engine.reason}`),
    ...(engine.withTfjsNode === undefined ? [] : [row('', `or ${engine.withTfjsNode}`)]),
    ...block(
      'variables',
      Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    ),
  ];
  const mending = missing.map(({ what, mend }) => `${pc.red('✗')} ${what}\n  → ${mend}`);
  const verdict =
    missing.length > 0 ? ['', 'Missing:', ...mending] : ['', `${pc.green('✓')} Nothing is missing.`];
  return `${[...lines, ...verdict].join('\n')}\n`;
}

function formatCollective({
  oneHost,
  reason,
  severalHosts,
  gpus,
  ncclObstacle,
}: NonNullable<EnvironmentReport['collective']>): string[] {
  const obstacle = ncclObstacle === undefined ? '' : ` (no nccl: ${ncclObstacle})`;
  return [
    row('collective', `${oneHost} on one host (${reason}), ${severalHosts} between hosts`),
    row('', `${gpus} for tensors on GPUs${obstacle}; no ucc, which libtorch does not include`),
  ];
}

function formatTfjsNode({ problem, tensorflow, origin }: EnvironmentReport['tfjsNode'][number]): string {
  if (problem !== undefined) return `cannot be loaded: ${problem}`;
  return `TensorFlow ${tensorflow ?? 'of unknown version'}${origin === 'setup' ? ', by acc setup tfjs-node' : ''}`;
}

function formatAddon(addon: AddonState): string {
  if (addon.state === 'loads') return `loads, ${addon.origin}, ${addon.path}`;
  return addon.state === 'broken' ? `broken (${addon.code})` : 'none';
}

function block(label: string, values: readonly string[]): string[] {
  return values.length > 0
    ? values.map((value, i) => row(i === 0 ? label : '', value))
    : [row(label, 'none')];
}

const row = (label: string, value: string): string => `${pc.bold(label.padEnd(LABEL_WIDTH))} ${value}`;
