import type { Diagnosis, Finding } from '@acc/records';
import { changeText, evidenceText } from '../../diagnose/report.js';
import type { Problem, RunDetails } from '../server/answers.js';
import { h, type Foldings } from './dom.js';
import { percent, plain } from './format.js';

/** The first thing that the page says: the cause that holds the run back, the change, and the gain to expect. */
export function verdictOf(details: RunDetails, foldings: Foldings): HTMLElement[] {
  const { verdict, error } = details;
  if (error) return [problemCard(error)];
  if (isProblem(verdict)) return [problemCard(verdict)];
  const [first, ...others] = verdict.findings;
  const cards = first ? [mainCard(first, foldings)] : [nothingFound(verdict)];
  if (others.length > 0)
    cards.push(h('div', { class: 'findings' }, ...others.map((finding) => smallCard(finding, foldings))));
  return [...cards, about(details, verdict, foldings)];
}

function isProblem(verdict: Diagnosis | Problem): verdict is Problem {
  return 'code' in verdict;
}

function problemCard({ code, message }: Problem): HTMLElement {
  const [what, next = ''] = message.split('\n→ ');
  return h(
    'article',
    { class: 'card verdict note' },
    h('p', { class: 'pill' }, code),
    h('h2', {}, what),
    next !== '' && h('p', {}, next),
  );
}

function nothingFound({ notJudged, detectors }: Diagnosis): HTMLElement {
  const isHealthy = notJudged.length === 0;
  return h(
    'article',
    { class: `card verdict ${isHealthy ? 'good' : 'note'}` },
    h('h2', {}, isHealthy ? 'Healthy: nothing holds this run back.' : 'Nothing was found.'),
    h(
      'p',
      {},
      isHealthy
        ? `All ${detectors} causes were judged.`
        : `${notJudged.length} of ${detectors} causes could not be judged yet.`,
    ),
  );
}

function mainCard(finding: Finding, foldings: Foldings): HTMLElement {
  const { id, severity, cause, advice, gain } = finding;
  return h(
    'article',
    { class: `card verdict ${severity}` },
    h(
      'div',
      { class: 'verdict-text' },
      h('p', { class: 'pill' }, `${id} · ${severity}`),
      h('h2', {}, cause),
      h('p', {}, advice),
      ...changeLines(finding),
      evidence(finding, foldings),
    ),
    h(
      'dl',
      { class: 'figures' },
      ...(gain
        ? figure('Expected gain', percent(gain.mid), `${percent(gain.low)} to ${percent(gain.high)}`)
        : []),
      ...(finding.share > 0 ? figure('Costs', percent(finding.share), 'of the time') : []),
      ...figure('Ranks', finding.ranks.join(', '), sinceText(finding)),
    ),
  );
}

function figure(term: string, value: string, note: string): HTMLElement[] {
  const notes = note === '' ? [] : [h('span', { class: 'small' }, note)];
  return [h('div', {}, h('dt', {}, term), h('dd', {}, h('strong', {}, value), ...notes))];
}

function sinceText({ since }: Finding): string {
  return since ? `since step ${since.step}` : '';
}

function changeLines({ change }: Finding): HTMLElement[] {
  if (!change) return [];
  const where = change.line ? [' in ', h('code', {}, change.line)] : [];
  return [h('p', { class: 'change' }, 'Change ', h('code', {}, changeText(change)), ...where)];
}

function smallCard(finding: Finding, foldings: Foldings): HTMLElement {
  const { id, severity, cause, advice, gain, share } = finding;
  const cost = share > 0 ? `costs ${percent(share)}` : severity;
  const text = gain ? `${cost}, expected gain ${percent(gain.mid)}` : cost;
  return h(
    'article',
    { class: `card finding ${severity}` },
    h('p', { class: 'pill' }, `${id} · ${text}`),
    h('h3', {}, cause),
    h('p', {}, advice),
    ...changeLines(finding),
    evidence(finding, foldings),
  );
}

function evidence({ id, evidence: figures }: Finding, foldings: Foldings): HTMLElement {
  const items = figures.map((each) => h('li', {}, evidenceText(each)));
  return foldings.details(`evidence-${id}`, 'Evidence', h('ul', {}, ...items));
}

function about({ judgedSteps }: RunDetails, verdict: Diagnosis, foldings: Foldings): HTMLElement {
  const { steps, stepMs, notJudged, detectors } = verdict;
  const of = `By ${steps} steps, of the last ${plain(judgedSteps)} at most, ${plain(stepMs)} ms each.`;
  const open = notJudged.map(({ id, reason }) => h('li', {}, h('code', {}, id), `: ${reason}`));
  const text = `${detectors - open.length} of ${detectors} causes judged`;
  return h(
    'div',
    { class: 'about' },
    h('p', {}, of),
    open.length > 0 ? foldings.details('not-judged', text, h('ul', {}, ...open)) : h('p', {}, `${text}.`),
  );
}
