export { Pipelines, staged } from '@acc/pipeline';
