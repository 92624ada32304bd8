import { programFrames, type Plugin } from '@acc/contract';
import { join } from '@acc/platform';
import type { TrackerBus, TrackersState } from '@acc/tracker';
import type { Alert, MonitorSink } from '@acc/monitor';
import { recordedOptions, type ResolvedOptions } from '../options.js';
import { monitorOf } from '../presets/plugins.js';

interface Training extends Pick<MonitorSink, 'norm' | 'watch'> {
  readonly size: number;
  readonly strategy: string;
}

/** Plugins that count steps for trackers, store the run in checkpoints, and log automatically. */
export function trackingPlugins(
  options: ResolvedOptions,
  bus: TrackerBus,
  { size, strategy, norm, watch }: Training,
): Plugin[] {
  const counting: Plugin = {
    name: 'trackers',
    afterStep: () => bus.beat(),
    getState: () => bus.getState(),
    setState: (state: TrackersState) => bus.setState(state),
  };
  const onAlert = typeof options.autoLog === 'object' ? options.autoLog.onAlert : undefined;
  const warn = (message: string) => console.warn(message);
  const sink = {
    get isOpen() {
      return bus.isRunning;
    },
    get step() {
      return bus.step;
    },
    get folder() {
      return bus.run?.dir;
    },
    log: (metrics: Readonly<Record<string, number>>, step: number) => bus.log(metrics, { step }),
    alert: (alert: Alert) => {
      warn(`acc: step ${alert.step}: ${alert.message}`);
      bus.alert(alert.kind, alert.message, alert.step);
      onAlert?.(alert);
    },
    warn,
    norm,
    watch,
    facts: {
      ...{ strategy, options: recordedOptions(options), createdAt: programLine() },
      checkpoints: placeOfCheckpoints(options),
    },
  };
  return [counting, ...monitorOf(options, sink, size)];
}

function placeOfCheckpoints({ checkpoint, projectDir }: ResolvedOptions): string {
  return checkpoint?.storage?.location ?? checkpoint?.dir ?? join(projectDir, 'checkpoints');
}

/** Where the program creates its Accelerator: `train.ts:12:28`. */
function programLine(): string | null {
  const [, ...frames] = new Error().stack?.split('\n') ?? [];
  const [, place] = /([^\\/() ]+:\d+:\d+)\)?$/.exec(programFrames(frames)[0] ?? '') ?? [];
  return place ?? null;
}
