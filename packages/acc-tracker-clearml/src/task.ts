import type { RunInfo } from '@acc/contract';
import type { ClearmlClient } from './client.js';

/** A task of ClearML, which is a run. */
export interface ClearmlTask {
  readonly taskId: string;
  /** The first parts of the names of its files, as ClearML's own client names them. */
  readonly folder: readonly string[];
}

/** The id of the project. Creates the project if it does not exist. */
async function projectId(client: ClearmlClient, name: string): Promise<string> {
  const exactly = `^${name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}$`;
  const query = { name: exactly, only_fields: ['id'] };
  const { projects } = await client.call<{ projects: { id: string }[] }>('projects.get_all', query);
  if (projects[0]) return projects[0].id;
  return (await client.call<{ id: string }>('projects.create', { name, description: '' })).id;
}

/**
 * Creates a task. If an earlier attempt got no answer, first looks for the task that it may have
 * created.
 *
 * @param isRetry Whether there was an earlier attempt.
 */
export async function createTask(
  client: ClearmlClient,
  run: RunInfo,
  { project, isRetry }: { project: string; isRetry: boolean },
): Promise<ClearmlTask> {
  const id = await projectId(client, project);
  const taskId = (isRetry ? await findTask(client, run, id) : undefined) ?? (await newTask(client, run, id));
  await client.call('tasks.started', { task: taskId, force: true });
  return { taskId, folder: folderOf(project, run, taskId) };
}

/** Reopens an existing task. */
export async function reopenTask(
  client: ClearmlClient,
  run: RunInfo,
  { project, taskId }: { project: string; taskId: string },
): Promise<ClearmlTask> {
  await client.call('tasks.started', { task: taskId, force: true });
  return { taskId, folder: folderOf(project, run, taskId) };
}

/** The task is found by its comment, which has the id of the run. */
async function findTask(client: ClearmlClient, run: RunInfo, project: string): Promise<string | undefined> {
  const pattern = { fields: ['comment'], pattern: commentOf(run) };
  const query = { project: [project], only_fields: ['id'], _any_: pattern };
  const { tasks } = await client.call<{ tasks: { id: string }[] }>('tasks.get_all', query);
  return tasks[0]?.id;
}

async function newTask(client: ClearmlClient, run: RunInfo, project: string): Promise<string> {
  const tags = Object.entries(run.tags).map(([key, value]) => (value === '' ? key : `${key}:${value}`));
  const { name } = run;
  const task = { name, type: 'training', project, tags, comment: commentOf(run) };
  return (await client.call<{ id: string }>('tasks.create', task)).id;
}

function commentOf({ id }: RunInfo): string {
  return `Accelerate for TensorFlow.js, run ${id}`;
}

function folderOf(project: string, { name }: RunInfo, taskId: string): string[] {
  return [project, `${name}.${taskId}`];
}
