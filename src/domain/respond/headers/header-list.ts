/** Every kind of response headers, in the order of the answer. A new kind is a file and a line here. */

import type { OpenHeaders } from './header-kind';
import { openIetfHeaders } from './ietf-headers';
import { openReferenceHeaders } from './reference-headers';
import { openRetryAfter } from './retry-after';

export const HEADER_KINDS: readonly OpenHeaders[] = [openReferenceHeaders, openIetfHeaders, openRetryAfter];
