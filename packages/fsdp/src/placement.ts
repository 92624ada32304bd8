export * from '@acc/placement';
