export * from '@acc/formats/jsonl';
