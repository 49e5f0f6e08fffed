from django.urls import include, path

urlpatterns = [
    path("", include("annotation.urls")),
    path("", include("readerstudy.urls")),
    path("api/v1/", include("annotation.api.routes")),
    path("api/v1/", include("readerstudy.api.routes")),
]

handler400 = "annotation.views.site.errors.bad_request"
handler403 = "annotation.views.site.errors.forbidden"
handler404 = "annotation.views.site.errors.not_found"
handler500 = "annotation.views.site.errors.server_error"
