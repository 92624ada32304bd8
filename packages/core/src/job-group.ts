import { AccError } from '@acc/contract';
import { joinGroup, type JoinedGroup, type JoinOptions, type Patience } from '@acc/collective';

/** The program's own settings of the group. Undefined settings are left open. */
export interface GroupWishes {
  readonly engine: JoinOptions['engine'];
  readonly settings: { readonly [Name in GroupSetting]?: JoinOptions[Name] };
}

type GroupSetting = 'streamWaits' | 'timeoutMs' | 'joinTimeoutMs' | keyof Patience;

interface Joining {
  readonly options: JoinOptions;
  readonly group: Promise<JoinedGroup>;
}

/** A process joins the group of its job once. Every Accelerator of the process uses it. */
let joining: Joining | undefined;

/**
 * The group of the job. After a failure the next call tries again, possibly with other options.
 *
 * @throws AccError those of `joinGroup`; `ACC_GROUP_JOINED` if the process is already in a group
 * with other settings than the requested ones.
 */
export async function joinOnce(options: JoinOptions, wishes: GroupWishes): Promise<JoinedGroup> {
  const own = (joining ??= { options, group: joinGroup(options) });
  let group: JoinedGroup;
  try {
    group = await own.group;
  } catch (error) {
    if (joining === own) joining = undefined;
    throw error;
  }
  requireWished(own.options, group, options, wishes);
  return group;
}

function requireWished(
  first: JoinOptions,
  { engine }: JoinedGroup,
  { device }: JoinOptions,
  wishes: GroupWishes,
): void {
  const { engine: wished = 'auto', settings } = wishes;
  const names = Object.keys(settings) as GroupSetting[];
  const differing = [
    wished !== 'auto' && wished !== engine && `engine is '${wished}', but the group uses '${engine}'`,
    ...names.map(
      (name) =>
        (settings[name] ?? first[name]) !== first[name] &&
        `${name} is ${settings[name]}, but the group uses ${first[name]}`,
    ),
    device !== first.device && `tensors live on ${device}, but the group was created for ${first.device}`,
  ].filter((line) => line !== false);
  if (differing.length === 0) return;
  throw new AccError(
    'ACC_GROUP_JOINED',
    `This process already joined its job's process group, whose options cannot change:\n  ${differing.join('\n  ')}`,
    {
      help: 'Give these options to the first Accelerator.create of the process. Give later calls the same options or none.',
      details: { differing },
    },
  );
}
