import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseCount } from '../counts.js';
import type { PlanFlags } from './options.js';

/** Adds the command `plan` to the program. */
export function addPlanCommand(program: Command): void {
  const command = program
    .command('plan')
    .description('search the fastest way to train a transformer on a cluster: mesh, stage, batch, schedule')
    .usage('[model] --cluster <NAME|FILE> --batch <N> [options]')
    .argument('[model]', 'a name such as gpt3, or a config.json of the Hub, or its folder')
    .optionsGroup('Required:')
    .requiredOption('--cluster <NAME|FILE>', 'a preset, such as a100-sxm, or a JSON file with its constants')
    .requiredOption('--batch <N>', 'sequences of a step, of all devices', parseCount);
  addModelOptions(command);
  addClusterOptions(command);
  addConstraints(command);
  addTargetOptions(command);
  command
    .optionsGroup('Output:')
    .option('--count <N>', 'plans to show', parseCount, 6)
    .option('--json', 'the plans as JSON, the fastest first')
    .option('--details', 'with --json: an object with plans, and what does not fit, constants, cost')
    .action(async (model: string | undefined, flags: PlanFlags) => {
      const [{ planned, jsonOf }, { formatPlans }] = await Promise.all([
        import('./report.js'),
        import('./format.js'),
      ]);
      const report = planned(model, flags);
      process.stdout.write(
        flags.json ? `${JSON.stringify(jsonOf(report, flags), undefined, 2)}\n` : formatPlans(report),
      );
    });
}

function addModelOptions(command: Command): void {
  command
    .optionsGroup('Model:')
    .option('--layers <N>', 'layers of a transformer, in place of a model', parseCount)
    .option('--hidden <N>', 'its width', parseCount)
    .option('--heads <N>', 'its heads of attention', parseCount)
    .option('--kv-heads <N>', 'its heads of keys and values (default: all)', parseCount)
    .option(
      '--ffn <N>',
      'the inner width of its MLP (default: 4 × hidden; with --gated 8/3 × hidden, rounded up to 256)',
      parseCount,
    )
    .option('--vocab <N>', 'its vocabulary', parseCount)
    .option('--gated', 'its MLP has three matrices, as in Llama')
    .option('--sequence <N>', 'tokens of a sequence (default: those of the model)', parseCount);
}

function addClusterOptions(command: Command): void {
  command
    .optionsGroup('Cluster:')
    .option('--devices <N>', 'devices, which are ranks (default: those of the file)', parseCount)
    .option('--memory-fraction <X>', "the part of a device's memory to use (default: 0.92)", parsePositive);
}

function addConstraints(command: Command): void {
  const constraint = (flags: string, text: string, choices: readonly string[]) =>
    command.addOption(new Option(flags, text).choices(choices));
  command
    .optionsGroup('Choices that every plan keeps:')
    .option('--micro-batch <N>', 'sequences of a device in one forward pass', parseCount)
    .option('--accumulation <N>', 'micro-batches of a step without a pipeline', parseCount)
    .option('--data <N>', 'the axis data of the mesh', parseCount)
    .option('--fsdp <N>', 'the axis fsdp', parseCount)
    .option('--tensor <N>', 'the axis tensor', parseCount)
    .option('--context <N>', 'the axis context', parseCount)
    .option('--pipeline <N>', 'the axis pipeline', parseCount)
    .option('--chunks <N>', 'stages of a device in a pipeline', parseCount)
    .option('--checkpoint-every <N|none>', 'layers of a section of activation checkpointing', parseSections);
  constraint('--stage <N>', 'stage of ZeRO', ['0', '1', '2', '3']);
  constraint('--precision <NAME>', 'of products', ['float32', 'tf32', 'fp16', 'bf16', 'fp8']);
  constraint('--schedule <NAME>', 'of a pipeline', ['gpipe', '1f1b', 'interleaved', 'zeroBubble']);
  constraint('--offload <WHAT>', 'values outside the device', ['none', 'optimizer', 'all']);
  constraint('--offload-to <WHERE>', 'their place (default: cpu)', ['cpu', 'nvme']);
  command
    .option('--sequence-parallel', 'norms and residuals are divided over tensor')
    .option('--no-sequence-parallel', 'they are not')
    .option('--no-flash-attention', 'attention keeps its scores');
}

function addTargetOptions(command: Command): void {
  command
    .optionsGroup('Cost of a training:')
    .option('--target-tokens <N>', 'tokens after which small batches reach the target', parsePositive)
    .option(
      '--critical-batch <N>',
      'the critical batch, in sequences: the gradient noise scale',
      parsePositive,
    )
    .option('--price <X>', 'the price of a device for an hour', parsePositive)
    .option('--watts <X>', 'the power of a device', parsePositive);
}

function parseSections(text: string): number | null {
  return text === 'none' ? null : parseCount(text);
}

function parsePositive(text: string): number {
  const value = Number(text);
  if (/^[\d.]/.test(text) && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('Expected a number above 0, such as 0.9 or 3e11.');
}
