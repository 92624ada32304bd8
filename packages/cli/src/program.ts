import { Command } from 'commander';
import { addCompletionCommand } from './completion/command.js';
import { addConfigCommand } from './config/command.js';
import { addConvertConfigCommand } from './convert-config/command.js';
import { addDiagnoseCommand } from './diagnose/command.js';
import { addEnvCommand } from './environment/command.js';
import { addEstimateMemoryCommand } from './estimate-memory/command.js';
import { addLaunchCommand } from './launch/command.js';
import { addMergeWeightsCommand } from './merge-weights/command.js';
import { addMonitorCommand } from './monitor/command.js';
import { addPlanCommand } from './plan/command.js';
import { addScaleStudyCommand } from './scale-study/command.js';
import { addTestCommand } from './self-check/command.js';
import { addSetupCommand } from './setup/command.js';
import { addExamples } from './examples.js';
import { throwUsageErrors } from './usage.js';
import { cliVersion } from './version.js';

/** The program with all commands. `setExitCode` receives the exit code of a job. */
export function createProgram(setExitCode: (code: number) => void): Command {
  const program = new Command('acc')
    .description('Accelerate for TensorFlow.js: train on every core and host')
    .version(cliVersion())
    .enablePositionalOptions()
    // Wide options leave few columns of a narrow terminal for their texts.
    .configureHelp({ minWidthToWrap: 10 })
    // Errors are printed in one place and format.
    .configureOutput({ outputError: () => undefined })
    .allowExcessArguments(false);
  addLaunchCommand(program, setExitCode);
  addConfigCommand(program);
  addConvertConfigCommand(program);
  addDiagnoseCommand(program);
  addEnvCommand(program);
  addEstimateMemoryCommand(program);
  addPlanCommand(program);
  addScaleStudyCommand(program, setExitCode);
  addMonitorCommand(program);
  addMergeWeightsCommand(program);
  addTestCommand(program, setExitCode);
  addSetupCommand(program);
  addCompletionCommand(program);
  addExamples(program);
  throwUsageErrors(program);
  return program;
}
