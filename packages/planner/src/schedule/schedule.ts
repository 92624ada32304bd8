import { AccError, nearestName, showValue } from '@acc/contract';
import { SCHEDULES, upTo, type PipelineShape, type Schedule, type ScheduleName } from './action.js';
import { ROWS } from './rows.js';

/**
 * The table of a schedule.
 *
 * @throws AccError `ACC_INVALID_OPTION` for an unknown name, and `ACC_PIPELINE_SHAPE` for numbers
 * that the schedule cannot have.
 */
export function scheduleOf(name: ScheduleName, shape: PipelineShape): Schedule {
  const { ranks, chunks, microBatches } = shape;
  if (!SCHEDULES.includes(name)) throw unknownSchedule(name);
  if (hasTooManyChunks(name, shape)) throw severalChunks(name, shape);
  if (hasUnevenGroups(shape)) throw unevenGroups(shape);
  return {
    name,
    ranks,
    stages: ranks * chunks,
    microBatches,
    rows: upTo(ranks).map((rank) => ROWS[name](rank, shape)),
  };
}

/** Whether there are several chunks and the schedule is for one. */
export const hasTooManyChunks = (name: ScheduleName, { chunks }: PipelineShape): boolean =>
  chunks > 1 && name !== 'interleaved';

/** Whether an interleaved schedule would have a group of fewer micro-batches than ranks behind whole ones. */
export const hasUnevenGroups = ({ ranks, chunks, microBatches }: PipelineShape): boolean =>
  chunks > 1 && microBatches > ranks && microBatches % ranks !== 0;

function unknownSchedule(name: unknown): AccError {
  const nearest = nearestName(String(name), SCHEDULES);
  const known = SCHEDULES.map((each) => `'${each}'`).join(', ');
  return new AccError('ACC_INVALID_OPTION', `The schedule is ${showValue(name)}; expected one of ${known}.`, {
    help: nearest ? `Did you mean '${nearest}'?` : 'Give one of these names.',
    details: { name, known: SCHEDULES },
  });
}

function severalChunks(name: ScheduleName, { ranks, chunks }: PipelineShape): AccError {
  return new AccError(
    'ACC_PIPELINE_SHAPE',
    `The schedule '${name}' has one stage for each of ${ranks} ranks, but there are ${ranks * chunks} stages.`,
    { help: `Give ${ranks} stages, or schedule: 'interleaved'.`, details: { ranks, chunks } },
  );
}

function unevenGroups({ ranks, microBatches }: PipelineShape): AccError {
  return new AccError(
    'ACC_PIPELINE_SHAPE',
    `The schedule 'interleaved' takes micro-batches in groups of ${ranks}, one for each rank. ${microBatches} micro-batches are no multiple of that.`,
    {
      help: `Give microBatches as a multiple of ${ranks} or fewer than ${ranks}, or schedule: '1f1b'.`,
      details: { ranks, microBatches },
    },
  );
}
