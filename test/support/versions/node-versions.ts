/** The versions of Node that Weir is shipped with or promises to run on, beside the one that runs the tests. */

import { listPinned, type PinnedVersion } from './pinned-versions';

/** The image's is the first. Each is alone in its folder, so that it can come first in a PATH. */
export function listNodes(): PinnedVersion[] {
  return listPinned('install/node-versions.mjs');
}
