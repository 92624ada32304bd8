import { AccError, type Tracker } from '@acc/contract';

/** A simulated service: the calls that it received, and how it behaves. */
export class Service {
  /** The names of accepted calls, with their arguments. */
  readonly taken: { method: string; step?: number; values: unknown; sequence?: number }[] = [];
  status: string | undefined;
  starts = 0;
  calls = 0;
  /** How calls behave. */
  behaviour: 'fine' | 'down' | 'refusing' | 'hanging' | 'throwing' = 'fine';
  /** Refuses the rows for which it returns true. */
  refuses: (metrics: Readonly<Record<string, number>>) => boolean = () => false;

  get rows(): unknown[] {
    return this.taken.filter(({ method }) => method === 'log').map(({ values }) => values);
  }

  get sequences(): (number | undefined)[] {
    return this.taken.map(({ sequence }) => sequence);
  }

  /** Answers asynchronously, like a remote service. */
  async take(
    ...given: { method: string; step?: number; values: unknown; sequence?: number }[]
  ): Promise<void> {
    this.calls++;
    if (this.behaviour === 'throwing') throw new Error('broken');
    await new Promise((resolve) => setImmediate(resolve));
    if (this.behaviour === 'hanging') await new Promise(() => undefined);
    if (this.behaviour === 'down') throw new AccError('ACC_TRACKER_UNAVAILABLE', 'the service is down.');
    const isRefused = given.some(({ values }) => this.refuses(values as Record<string, number>));
    if (this.behaviour === 'refusing' || isRefused) throw new AccError('ACC_TRACKER_REFUSED', 'not this');
    this.taken.push(...given);
  }
}

/** A tracker that stores in a {@link Service}. */
export function trackerOf(service: Service, options: { name?: string; batches?: boolean } = {}): Tracker {
  const { name = 'service', batches = true } = options;
  const tracker: Tracker = {
    name,
    async start() {
      await service.take();
      service.starts++;
    },
    async resume() {
      await service.take();
    },
    log: (step, metrics, { sequence }) => service.take({ method: 'log', step, values: metrics, sequence }),
    logConfig: (config) => service.take({ method: 'logConfig', values: config }),
    logText: (step, key, text, { sequence }) =>
      service.take({ method: 'logText', step, values: { [key]: text }, sequence }),
    async finish(status) {
      await service.take();
      service.status = status;
    },
  };
  if (!batches) return tracker;
  return {
    ...tracker,
    logBatch: (rows) =>
      service.take(
        ...rows.map(({ step, metrics, sequence }) => ({ method: 'log', step, values: metrics, sequence })),
      ),
  };
}
