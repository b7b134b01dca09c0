/** The hash under which a secret is remembered, so that no memory dump shows it. */

import { createHash } from 'node:crypto';

/** SHA-256, in base64. A look-up by it takes the same time for a near miss as for any other text. */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}
