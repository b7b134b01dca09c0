/** How many limits with fair a Weir divides now, by its metric. */

import { httpRequest } from '../clients/http-client';
import type { WeirProcess } from '../processes/weir-process';

export async function dividedLimits({ debugPort }: Pick<WeirProcess, 'debugPort'>): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${debugPort}/metrics`);
  return Number(/^weir_fair_divided_limits (\S+)$/m.exec(body)?.[1]);
}
