#include "engine/seal_source.h"

#include <utility>

#include "store/applications.h"
#include "store/apply_key.h"

namespace cloche {

tree::KeySource seal_source(std::function<Result<store::Place>()> place) {
  tree::KeySource out;
  out.key = [place]() -> Result<sys::HmacKey> {
    CLOCHE_TRY_ASSIGN(const store::Place found, place());
    return store::apply_key(found);
  };
  out.under_way = [place](const std::string& tree) -> Result<std::string> {
    CLOCHE_TRY_ASSIGN(const store::Place found, place());
    return store::application_under_way(found, tree);
  };
  out.begin = [place](const std::string& tree, const std::string& number) -> Status {
    CLOCHE_TRY_ASSIGN(const store::Place found, place());
    return store::begin_application(found, tree, number);
  };
  out.end = [place = std::move(place)](const std::string& tree, const std::string& number) -> Status {
    CLOCHE_TRY_ASSIGN(const store::Place found, place());
    return store::end_application(found, tree, number);
  };
  return out;
}

}  // namespace cloche
