import { AccError } from '@acc/contract';
import type { Command } from 'commander';
import type { TfjsNodeOptions } from './setup-tfjs-node.js';

/** Adds the command `setup tfjs-node` to `setup`. */
export function addTfjsNodeCommand(setup: Command): void {
  setup
    .command('tfjs-node')
    .description('give the @tensorflow/tfjs-node of this project a current TensorFlow, from its Python wheel')
    .option('--gpu', 'set up @tensorflow/tfjs-node-gpu, with a TensorFlow for CUDA')
    .option('--tensorflow <version>', 'the version of TensorFlow (default: 2.15.1)')
    .option('--from <path>', 'use this wheel of TensorFlow instead of fetching one with pip')
    .option('--sha256 <hex>', 'the expected SHA-256 checksum of the wheel')
    .option('--offline', 'do not use the network')
    .option('--dry-run', 'only say what would be done')
    .option('--undo', 'put the package back to the state before the setup')
    .action(async (flags: TfjsNodeOptions) => {
      requireNoOptions(setup);
      const [{ setupTfjsNode }, { SetupProgress }] = await Promise.all([
        import('./setup-tfjs-node.js'),
        import('../progress.js'),
      ]);
      await setupTfjsNode(flags, process.cwd(), new SetupProgress(process.stderr));
    });
}

/** Options before `tfjs-node` are those of `setup` alone. */
function requireNoOptions(setup: Command): void {
  const [first] = setup.options.filter((each) => setup.getOptionValueSource(each.attributeName()) === 'cli');
  if (!first) return;
  throw new AccError('ACC_BAD_OPTION', `acc setup ${first.long} tfjs-node: the option is before tfjs-node.`, {
    help: `Options of tfjs-node come after it, such as: npx acc setup tfjs-node --offline`,
    details: { option: first.long },
  });
}
