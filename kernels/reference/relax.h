/* relax.h: stencil loops of the reference backend. */
#ifndef GSW_REFERENCE_RELAX_H
#define GSW_REFERENCE_RELAX_H

#include "contract/relax_ops.h"

extern const gsw_relax_ops gsw_reference_relax_ops;

#endif
