export * from '@acc/formats/tfrecord';
