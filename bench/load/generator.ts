/** A generator's process: runs one load after another, as it is told. */

import { runLoad, type LoadJob } from './run-load';

process.on('message', (job: LoadJob) => {
  void runLoad(job).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit(0));
