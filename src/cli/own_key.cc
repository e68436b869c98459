#include "cli/own_key.h"

#include "cli/run_options.h"
#include "store/apply_key.h"

namespace cloche::cli {

tree::KeySource own_key() {
  return []() -> Result<sys::HmacKey> {
    CLOCHE_TRY_ASSIGN(const store::Place place, store::find_place(read_environment()));
    return store::apply_key(place);
  };
}

}  // namespace cloche::cli
