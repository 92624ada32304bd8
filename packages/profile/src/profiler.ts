import { getBackend, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type Plugin } from '@acc/contract';
import { resolveProfileOptions, type ProfileOptions } from './options.js';
import { profileOf } from './profile.js';
import { allocateFor, give, withOwners, type MemoryOwner } from './memory-owners.js';
import { Session, type ProfiledTraining } from './session.js';
import { StoredPeaks } from './stored-peaks.js';
import { writeTraces } from './trace.js';
import { WatchedWindow, type WindowRequest } from './watched-window.js';
import type { Peak } from './peak.js';
import type { Profile, ProfilerContext } from './profile-result.js';

type Pass = <T>(compute: () => T) => T;

/**
 * Takes profiles of the steps of an Accelerator, one at a time. Without a profile it only tells the
 * allocator which pass runs, so that an error for lack of memory can say who holds it.
 */
export class Profiler {
  #session: Session | undefined;
  #window: WatchedWindow | undefined;

  #owner: MemoryOwner = 'other';
  readonly #isOnHost: boolean;

  /** Observes passes and steps. */
  readonly plugin: Plugin;

  constructor(private readonly context: ProfilerContext) {
    const { kernels } = context;
    this.#isOnHost = kernels.recorder !== undefined && kernels.device === 'cpu';
    const session = () => this.#session;
    const onHost = this.#isOnHost;
    const forward: Pass = (compute) => this.#pass('activations', session()?.forward, compute);
    const backward: Pass = (compute) => this.#pass('temporary', session()?.backward, compute);
    const ready = (grad: Tensor) => give([grad], 'gradients');
    const transform = () => this.#allocateFor('temporary');
    this.plugin = {
      name: 'profile',
      get forward() {
        return onHost ? forward : session()?.forward;
      },
      get backward() {
        return onHost ? backward : session()?.backward;
      },
      get ready() {
        // A hook between its calls would divide a recorded step.
        return onHost && session() && !kernels.recorder!.isRecording ? ready : undefined;
      },
      // A step that is skipped has no optimizer.
      get transform() {
        return onHost && session() && !kernels.recorder!.isRecording ? transform : undefined;
      },
      afterStep: () => {
        this.#allocateFor('other');
        session()?.endStep();
        this.#window?.afterStep();
      },
      detach: () => this.#window?.cancel('The training ended before the last step of the window.'),
    };
  }

  /** See `Accelerator.profile`. */
  async run(fn: () => unknown, options: ProfileOptions): Promise<Profile> {
    const resolved = resolveProfileOptions(options);
    const { traceDir } = resolved;
    const { rank, size, kernels } = this.context;
    this.#window?.cancel('The program takes a profile itself, which ended the window.');
    if (this.#session) throw alreadyRuns();
    // A backend that records its native calls also reports them.
    if (!kernels.recorder) throw otherBackend();
    // A folder that cannot be written is told before the training.
    if (traceDir !== undefined) writeTraces(traceDir, { rank, size, spans: [], memory: [] });
    const peak = this.#peak();
    const session = (this.#session = new Session(resolved, this.#training));
    try {
      await fn();
      await session.collectGarbageTimes();
    } finally {
      session.end();
      this.#session = undefined;
    }
    return profileOf(session, { ...this.context, options: resolved, peak });
  }

  /**
   * Begins a profile of the next steps, beside a training that goes on. Called on all ranks after the same
   * step, or only on some. No error of it reaches the caller.
   */
  watch(request: WindowRequest): void {
    const { rank, size, kernels } = this.context;
    const refuse = (message: string) => request.tell({ state: 'failed', message });
    if (this.#session) {
      refuse('The program takes a profile itself. Ask again after it.');
      return;
    }
    if (!kernels.recorder) {
      refuse(otherBackend().message);
      return;
    }
    const onEnd = () => (this.#session = this.#window = undefined);
    try {
      this.#window = new WatchedWindow(request, { rank, size, training: this.#training, onEnd });
      this.#session = this.#window.session;
    } catch (error) {
      refuse((error as Error).message);
    }
  }

  get #training(): ProfiledTraining {
    return { ...this.context.training, isOnHost: this.#isOnHost };
  }

  /** Ranks agree before the training, because later one of them may have failed. */
  #peak(): () => Peak {
    const { collective, kernels, dtype, localSize } = this.context;
    const peaks = new StoredPeaks({ dtype, device: kernels.device, localSize });
    const { stored } = peaks;
    const isKnown = collective.allGatherObject(stored !== undefined).every(Boolean);
    return () => (isKnown && stored ? stored : peaks.measure());
  }

  /** Runs a pass on the host, with its part in the session, if there is one. */
  #pass<T>(owner: MemoryOwner, observe: Pass | undefined, compute: () => T): T {
    const outer = this.#owner;
    this.#allocateFor(owner);
    try {
      return observe ? observe(compute) : compute();
    } catch (error) {
      throw withOwners(error, this.context.training);
    } finally {
      this.#allocateFor(outer);
    }
  }

  #allocateFor(owner: MemoryOwner): void {
    if (owner === this.#owner) return;
    this.#owner = owner;
    if (this.#isOnHost) allocateFor(owner);
  }
}

function alreadyRuns(): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', 'profile: another profile is being taken.', {
    help: 'Await the first profile before the next one.',
  });
}

function otherBackend(): AccError {
  return new AccError(
    'ACC_BACKEND_CANNOT',
    `profile: the backend '${getBackend()}' does not report its operators.`,
    {
      help: "Train on the backend 'acc', without engine: 'tfjs', or use tf.profile.",
    },
  );
}
