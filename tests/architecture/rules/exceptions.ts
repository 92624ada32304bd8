/**
 * A rule that one place may break. An exception that is no longer needed is an error, so the lists
 * only shrink.
 */
export interface Exception {
  /** The path of the file from the root, or `file#name` for a function. */
  readonly where: string;
  readonly reason: string;
}

export const MAX_FILE_LINES = 400;
/** The limit for tests, scripts and benchmarks. */
export const MAX_FUNCTION_LINES = 60;
export const MAX_PRODUCT_FUNCTION_LINES = 40;
export const MAX_PARAMETERS = 4;
export const MAX_CPP_FUNCTION_LINES = 60;
export const MAX_MEMBERS = 25;

const XBYAK = 'a library of others, unchanged';

export const LONG_FILES: readonly Exception[] = [
  {
    where: 'packages/core/src/accelerator.ts',
    reason: 'the public class: each method has a docstring and one line that calls the implementation',
  },
  { where: 'packages/native/cpp/third_party/xbyak/xbyak.h', reason: XBYAK },
  { where: 'packages/native/cpp/third_party/xbyak/xbyak_mnemonic.h', reason: XBYAK },
];

export const LONG_FUNCTIONS: readonly Exception[] = [
  {
    where: 'packages/tape/src/gradient-driver/driver.ts#gradients',
    reason: 'it replaces one whole function of tfjs',
  },
];

/** An options object for each call would be garbage, which V8 collects while all ranks wait. */
const HOT = 'called in every step with plain numbers and tensors';
const THEIRS = 'the signature of a function of tfjs or libtorch';

export const MANY_PARAMETERS: readonly Exception[] = [
  { where: 'packages/kernels/src/backend.ts#move', reason: THEIRS },
  { where: 'packages/kernels/src/families/conv2d.ts#filterGradient2D', reason: HOT },
  { where: 'packages/kernels/src/families/conv2d.ts#inputGradient2D', reason: HOT },
  { where: 'packages/kernels/src/families/elementwise.ts#applyBinary', reason: HOT },
  { where: 'packages/kernels/src/families/elementwise.ts#applyUnary', reason: HOT },
  { where: 'packages/kernels/src/families/split-join.ts#splitTensor', reason: HOT },
  { where: 'packages/kernels/src/families/pool-kernels.ts#poolGradient', reason: HOT },
  { where: 'packages/kernels/src/families/product.ts#blas', reason: HOT },
  { where: 'packages/kernels/src/families/product.ts#classOf', reason: HOT },
  { where: 'packages/kernels/src/families/product.ts#isSmall', reason: HOT },
  { where: 'packages/kernels/src/families/product.ts#nameOf', reason: HOT },
  { where: 'packages/kernels/src/families/product.ts#onednn', reason: HOT },
  { where: 'packages/kernels/src/families/product.ts#panels', reason: HOT },
  { where: 'packages/kernels/src/families/reductions.ts#filled', reason: HOT },
  { where: 'packages/kernels/src/families/reductions.ts#reduceOver', reason: HOT },
  { where: 'packages/kernels/src/families/scatter.ts#scatter', reason: HOT },
  { where: 'packages/kernels/src/functions/attention-candidates.ts#backward', reason: HOT },
  { where: 'packages/kernels/src/functions/rms-norm.ts#gradients', reason: HOT },
  { where: 'packages/kernels/src/kernels/RotateWithOffset.ts#rotated', reason: HOT },
  { where: 'packages/kernels/src/kernels/StridedSlice.ts#sliced', reason: HOT },
  { where: 'packages/kernels/src/layers/recurrent-kernels.ts#runBackward', reason: THEIRS },
  { where: 'packages/kernels/src/losses/replace.ts#fused', reason: THEIRS },
  { where: 'packages/kernels/src/tensor-data.ts#constructor', reason: HOT },
  { where: 'packages/tape/src/gradient-driver/driver.ts#gradients', reason: THEIRS },
  { where: 'packages/native/src/process-group.ts##start', reason: HOT },
  { where: 'packages/native/src/process-group.ts##writeCall', reason: HOT },
  { where: 'packages/native/src/process-group.ts#reduce', reason: THEIRS },
  {
    where: 'packages/checkpoint/src/read/read-tensors.ts#scatter',
    reason: 'called for each chunk that is read, with the place of its bytes',
  },
];

export const LONG_CPP_FUNCTIONS: readonly Exception[] = [
  {
    where: 'packages/native/cpp/binding/recording.cpp#bind_recording',
    reason: 'a list of functions that JavaScript can call, each in one statement',
  },
];

/**
 * Classes with more members, which no new class joins. A part of each belongs to a class or function of its
 * own.
 */
export const LARGE_CLASSES: readonly string[] = [
  'packages/amp/src/autocast.ts#Autocast',
  'packages/collective/src/blocking-verbs.ts#BlockingVerbs',
  'packages/collective/src/group-collective.ts#GroupCollective',
  'packages/collective/src/single.ts#SingleCollective',
  'packages/core/src/accelerator.ts#Accelerator',
  'packages/core/src/state/rescuing.ts#Rescuing',
  'packages/core/src/step/training-step.ts#TrainingStep',
  'packages/data/src/data-loader.ts#Loader',
  'packages/deterministic/src/deterministic.ts#Deterministic',
  'packages/federated/src/client/session.ts#ClientSession',
  'packages/federated/src/coordinator/round-runner.ts#RoundRunner',
  'packages/fsdp/src/fsdp.ts#Fsdp',
  'packages/kernels/src/backend.ts#AccBackend',
  'packages/kernels/src/pending/pending-value.ts#PendingValue',
  'packages/kernels/src/recording/recorder.ts#Session',
  'packages/kernels/src/recording/step-recording.ts#StepRecording',
  'packages/kernels/src/tensor-data.ts#TensorData',
  'packages/monitor/src/monitor.ts#Monitor',
  'packages/pipeline/src/run/run-step.ts#Step',
  'packages/pipeline/src/weights/staged.ts#Staged',
  'packages/placement/src/flat/unit.ts#Unit',
  'packages/tensor-parallel/src/local-tensors.ts#LocalTensors',
  'packages/tensor-parallel/src/tensor-parallel.ts#TensorPlacer',
  'packages/testkit/src/threads/thread-group.ts#ThreadGroup',
  'packages/tracker-wandb/src/wandb-tracker.ts#WandbRecorder',
  'packages/tracker/src/lane.ts#Lane',
  'packages/tracker/src/queue/entry-queue.ts#EntryQueue',
  'packages/tracker/src/recording.ts#Recording',
  'packages/tracker/src/tracker-bus.ts#TrackerBus',
];

/** Modules that do something when they are imported. */
export const SIDE_EFFECTS: readonly Exception[] = [
  { where: 'packages/kernels/src/register.ts', reason: 'its purpose is to register the backend' },
  { where: 'packages/cli/src/acc.ts', reason: 'the program `acc` itself' },
  { where: 'packages/cli/src/run-command.ts', reason: 'the program `acc` itself' },
  {
    where: 'packages/cli/src/launch/function/run-function.ts',
    reason: 'the program of a rank that runs a function',
  },
  { where: 'packages/cli/src/launch/report-errors.ts', reason: 'is loaded by a rank before its program' },
  { where: 'packages/cli/src/monitor/page/main.ts', reason: 'the program of the page of `acc monitor`' },
  { where: 'packages/core/src/self-check/run.ts', reason: 'the program of a rank of `acc test`' },
  {
    where: 'packages/testkit/src/continuous/host.ts',
    reason: 'the program of a rank that runs modules',
  },
  {
    where: 'packages/core/src/backend/mend-tfjs-node.ts',
    reason:
      'tfjs-node fails in most operators on Node.js 23 and newer, also in those that a program calls before `create`',
  },
  {
    where: 'packages/core/src/backend/note-choices.ts',
    reason:
      'tfjs does not record calls of `tf.setBackend`; a choice of the program before `create` must be distinguished from the backend that tfjs activates by default',
  },
  {
    where: 'packages/core/src/end-by-uncaught.ts',
    reason: 'an error before `create` must end the program with a short text, too',
  },
  {
    where: 'packages/core/src/require-node.ts',
    reason: 'a Node.js that is too old must be named before anything else fails',
  },
  {
    where: 'packages/core/src/random/note-shuffles.ts',
    reason:
      'tf.data shuffles by the clock without a seed; a dataset that a program shuffles before `create` must have the same order on every rank, too',
  },
  {
    where: 'packages/core/src/state/register-file-addresses.ts',
    reason: "`model.save('file://…')` works in programs that only import the package, as with tfjs-node",
  },
];

/** Imports that are needed for their effect, not for their exports. */
export const SIDE_EFFECT_IMPORTS: readonly Exception[] = [
  {
    where: 'packages/kernels/src/register-backend.ts',
    reason:
      'the fallbacks run on the cpu backend of tfjs, which that package registers when it is imported; there is no function for it',
  },
  {
    where: 'packages/core/src/presets/kernels.ts',
    reason:
      'choices of a backend and shuffles are recorded, tfjs-node is mended, `file://` is handled, and errors end the program with a short text, from the start',
  },
];

/** Files that read the environment, or pass it to processes that they start. */
export const ENVIRONMENT: readonly Exception[] = [
  { where: 'packages/contract/src/errors/errors.ts', reason: 'ACC_STACK: how much of an error is printed' },
  { where: 'packages/core/src/environment.ts', reason: "the launcher's variables" },
  { where: 'packages/formats/src/indexes/index-folder.ts', reason: 'where the cache is' },
  { where: 'packages/formats/src/sources/s3-source.ts', reason: 'what the tools of AWS read' },
  { where: 'packages/core/src/self-check/run.ts', reason: 'its rank' },
  { where: 'packages/kernels/src/tuning/options.ts', reason: 'ACC_KERNELS_TUNE' },
  {
    where: 'packages/monitor/src/environment.ts',
    reason: 'which GPUs CUDA may use, and the command that started the job',
  },
  { where: 'packages/native/src/libtorch/environment.ts', reason: 'where libtorch is' },
  { where: 'packages/native/src/libtorch/openmp-spins.ts', reason: 'libgomp reads its settings there' },
  { where: 'packages/platform/src/platform/host.ts', reason: 'passes it on; a page has none' },
  { where: 'packages/native/src/libtorch/toolchain.ts', reason: 'passes PATH to the search for a compiler' },
  { where: 'packages/cli/src/config/command.ts', reason: 'where the config file is' },
  { where: 'packages/cli/src/environment/command.ts', reason: '`acc env` shows variables' },
  {
    where: 'packages/cli/src/launch/command.ts',
    reason: 'where the config file is; tells the ranks the command',
  },
  { where: 'packages/cli/src/launch/function/run-function.ts', reason: 'its rank' },
  { where: 'packages/cli/src/launch/launch.ts', reason: 'passes it to the ranks' },
  { where: 'packages/cli/src/launch/report-errors.ts', reason: 'where a rank reports its error' },
  { where: 'packages/cli/src/launch/watchdog.ts', reason: "passes PATH to the watchdog's shell" },
  { where: 'packages/cli/src/scale-study/command.ts', reason: 'where the config file is' },
  { where: 'packages/cli/src/monitor/open-browser.ts', reason: 'whether there is a desktop' },
  { where: 'packages/cli/src/self-check/command.ts', reason: 'where the config file is' },
  { where: 'packages/cli/src/setup/setup.ts', reason: 'refuses options that contradict ACC_LIBTORCH' },
  { where: 'packages/testkit/src/continuous/host.ts', reason: 'reads a setting of tests' },
  {
    where: 'packages/testkit/src/continuous/left-behind.ts',
    reason: 'compares it before and after a module',
  },
  { where: 'packages/testkit/src/continuous/pool.ts', reason: 'reads a setting of tests' },
  { where: 'packages/testkit/src/rank-process.ts', reason: 'passes it to the ranks' },
  { where: 'packages/transpile/src/remembered.ts', reason: 'which tsconfig.json tsx used' },
  { where: 'packages/transpile/src/tsconfig.ts', reason: 'which tsconfig.json tsx uses' },
  { where: 'packages/acc-tracker-clearml/src/environment.ts', reason: "what ClearML's own client reads" },
  { where: 'packages/acc-tracker-comet/src/environment.ts', reason: 'what comet_ml reads' },
  { where: 'packages/acc-tracker-trackio/src/environment.ts', reason: 'what Trackio itself reads' },
  { where: 'packages/tracker-mlflow/src/environment.ts', reason: "what MLflow's own client reads" },
  { where: 'packages/tracker-wandb/src/environment.ts', reason: 'what the wandb package reads' },
];

/** Files whose imports the build puts into the file that it writes. */
export const BUNDLED: readonly Exception[] = [
  { where: 'packages/cli/src/monitor/page/chart.ts', reason: 'uPlot is part of the page of `acc monitor`' },
  { where: 'packages/cli/src/monitor/page/memory-chart.ts', reason: 'uPlot is part of that page' },
];

/** Files whose errors have their next step in the message of another error. */
export const RELAYS_NEXT_STEP: readonly Exception[] = [
  { where: 'packages/checkpoint/src/together.ts', reason: 'the error of another rank' },
  { where: 'packages/cli/src/scale-study/run-study.ts', reason: 'the error of the program' },
  { where: 'packages/collective/src/calls.ts', reason: 'the error of the engine' },
  { where: 'packages/data/src/workers/worker-pool.ts', reason: 'the error of a thread' },
  { where: 'packages/testkit/src/threads/thread-group.ts', reason: '@acc/collective explains it' },
  { where: 'packages/testkit/src/threads/wire.ts', reason: '@acc/collective explains it' },
];

/** Files that compare the name of a tfjs backend with a known name. */
export const NAMES_A_BACKEND: readonly Exception[] = [
  {
    where: 'packages/core/src/presets/kernels.ts',
    reason: 'the option `engine` names a backend; a program that chose another gets a warning',
  },
];
